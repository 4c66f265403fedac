"""The surface of a face: its mesh, its unwrapped maps, and what is found to lie over its skin."""

from __future__ import annotations

import dataclasses

import cv2
import numpy as np
import pytest

from facefusion.core.values import Size
from facefusion.faces.surface import atlas, hair, tone, topology
from facefusion.faces.surface.occluder import find_occluder
from facefusion.vision.filters import resize
from facefusion.vision.raster import rasterise
from tests.toys import heads


def unwrapped(size=128, **about):
    return resize(heads.skin(**about), Size(size, size))


def straight(size=128):
    return np.ones((size, size), np.float32)


class TestTopology:
    def test_every_edge_belongs_to_two_triangles_but_for_oval_and_lips(self):
        edges: dict[frozenset[int], int] = {}
        for a, b, c in topology.triangles().tolist():
            for edge in (frozenset((a, b)), frozenset((b, c)), frozenset((c, a))):
                edges[edge] = edges.get(edge, 0) + 1
        single = set().union(*(edge for edge, count in edges.items() if count == 1))
        assert set(edges.values()) == {1, 2}
        assert single == {*topology.OVAL, *topology.INNER_LIP}

    def test_the_mouth_is_closed_without_a_gap(self):
        placed = heads.mesh(open_mouth=0.2)
        corners = np.concatenate((topology.mouth_triangles(), topology.triangles()))
        inside = rasterise(placed[:468, :2], corners, Size(320, 240)).inside()
        outlines, _ = cv2.findContours(inside, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
        assert len(outlines) == 1

    def test_facing_falls_as_the_head_turns(self):
        left, right = 234, 454
        front, turned = (topology.facing(heads.mesh(yaw=yaw)) for yaw in (0, 40))
        assert front[4] > 0.85
        assert front[left] == pytest.approx(front[right], abs=0.02)
        assert max(turned[left], turned[right]) > front[left] + 0.2
        assert min(turned[left], turned[right]) < front[left] - 0.2

    def test_triangles_are_sorted_by_depth(self):
        placed = heads.mesh(yaw=30)
        depths = placed[:, 2][topology.triangles()[topology.far_to_near(placed)]].mean(axis=1)
        assert (np.diff(depths) <= 1e-4).all()


class TestAtlas:
    def test_masks_lie_between_0_and_1_and_are_symmetric(self):
        for mask in dataclasses.astuple(atlas.masks(64)):
            assert mask.min() >= 0
            assert mask.max() <= 1 + 1e-6
            assert np.abs(mask - mask[:, ::-1]).mean() < 0.02

    def test_skin_holds_no_features(self):
        masks = atlas.masks(atlas.DETAIL)
        assert not (masks.skin * (masks.eyes > 0.5)).any()
        assert masks.skin.mean() > 0.4

    def test_nothing_is_shown_at_the_oval(self):
        edge = atlas.masks(atlas.DETAIL).edge
        for u, v in topology.texture_coordinates()[list(topology.OVAL)]:
            assert edge[min(int(v * 256), 255), min(int(u * 256), 255)] < 0.01


class TestTone:
    def test_there_and_back(self):
        pixels = np.random.default_rng(0).integers(30, 180, (20, 20, 3)).astype(np.float32)
        assert tone.to_pixels(tone.to_tone(pixels)) * 255 == pytest.approx(pixels, abs=0.8)

    def test_dimming_keeps_chromaticity(self):
        bright = tone.to_tone(np.full((2, 2, 3), heads.SKIN, np.float32))
        dim = bright.copy()
        dim[..., 0] *= 0.5
        pixels = tone.to_pixels(dim.copy())
        assert tone.to_tone(pixels * 255)[..., 1:] == pytest.approx(bright[..., 1:], abs=0.1)

    def test_highlights_bend_and_do_not_clip(self):
        ramp = np.zeros((1, 200, 3), np.float32)
        ramp[0, :, 0] = np.linspace(0, 130, 200)
        pixels = tone.to_pixels(ramp)[0, :, 1]
        assert (np.diff(pixels) > -1e-6).all()
        assert pixels.max() <= 1.0001


class TestHair:
    def find(self, pixels, **about):
        about.setdefault("of_source", False)
        return hair.find_covering(tone.to_lab(pixels), atlas.masks(128), straight(), **about)

    def test_plain_skin_is_bare(self):
        found = self.find(unwrapped())
        assert (found.hair * atlas.masks(128).edge).mean() < 0.005

    @pytest.mark.parametrize("colour", [(30, 35, 45), (90, 170, 200)])
    def test_a_fringe_is_found_and_the_cheeks_stay_bare(self, colour):
        pixels = unwrapped()
        pixels[:34] = colour
        found = self.find(pixels)
        assert found.hair[20:30, 40:88].mean() > 0.8
        assert found.hair[70:80, 45:83].max() < 0.1

    def test_black_strands_are_followed_inwards_but_not_a_shadow(self):
        strand, shadow = unwrapped(), unwrapped()
        strand[30:66, 28:38] = (20, 20, 20)
        strand[:34, 20:38] = (20, 20, 20)
        shadow[30:66, 28:38] *= 0.75
        deep = (slice(50, 60), slice(31, 35))
        assert self.find(strand).hair[deep].mean() > 0.7
        assert self.find(shadow).hair[deep].mean() < 0.4

    def test_a_beard_belongs_to_the_source_and_covers_the_target(self):
        pixels = unwrapped()
        pixels[86:] = np.where(atlas.masks(128).lips[86:, :, None] > 0.3, pixels[86:], (35, 40, 50))
        rim = (slice(100, 108), slice(44, 84))
        assert self.find(pixels, of_source=True).hair[rim].mean() < 0.2
        assert self.find(pixels, of_source=True).beard[rim].mean() > 0.7


class TestOccluder:
    def find(self, pixels):
        return find_occluder(tone.to_lab(pixels), atlas.masks(128), straight())

    def test_bare_skin_and_a_grey_picture_show_none(self):
        assert self.find(unwrapped()).max() < 0.05
        assert self.find(np.repeat(unwrapped()[..., 1:2], 3, axis=2)).max() < 0.05

    def test_a_microphone_at_the_chin_is_found(self):
        pixels = unwrapped()
        cv2.circle(pixels, (64, 100), 12, (40, 40, 42), -1)
        found = self.find(pixels)
        assert found[94:106, 58:70].mean() > 0.9
        assert found[70:80, 30:100].max() < 0.1

    def test_a_highlight_is_too_small(self):
        pixels = unwrapped()
        cv2.circle(pixels, (64, 100), 2, (255, 255, 255), -1)
        assert self.find(pixels).max() < 0.05

    def test_a_mask_covers_the_lower_face_with_its_folds(self):
        pixels = unwrapped()
        pixels[66:] = (235, 235, 230)
        pixels[96:102] = heads.SKIN
        assert self.find(pixels)[72:110, 40:88].min() > 0.9
