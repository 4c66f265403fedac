"""Where a source ends and the target keeps its own skin."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.faces.surface import atlas
from facefusion.processors.base import Scene
from facefusion.processors.face_swapper.families.mesh.family import MeshFamily
from facefusion.processors.face_swapper.families.mesh.reach import border_distance, reach
from facefusion.vision.picture import BgrPicture
from tests.toys import heads

SIDE = atlas.DETAIL


def seen_between(left, right):
    """What a photo shows that is cut off at two columns."""
    known = np.zeros((SIDE, SIDE), np.float32)
    known[:, left:right] = 1
    return known


class TestBorderDistance:
    def test_it_grows_inwards_and_falls_outwards(self):
        row = border_distance(seen_between(64, 192))[128] * SIDE
        assert row[[64, 65, 74, 191]] == pytest.approx([1, 2, 11, 1], abs=0.1)
        assert row[[63, 62, 53, 192]] == pytest.approx([-1, -2, -11, -1], abs=0.1)

    def test_without_a_border_it_is_far(self):
        assert border_distance(np.ones((SIDE, SIDE), np.float32)).min() > 1
        assert border_distance(np.zeros((SIDE, SIDE), np.float32)).max() < -1


class TestReach:
    def test_a_face_known_altogether_reaches_as_far_as_the_outline_allows(self):
        opacity = reach(np.ones((SIDE, SIDE), np.float32))
        assert opacity == pytest.approx(atlas.masks(SIDE).edge, abs=1e-6)

    def test_sides_that_no_photo_shows_are_left_to_the_target(self):
        opacity = reach(seen_between(46, SIDE - 46))
        assert atlas.masks(SIDE).edge[110, 30] == 1
        assert opacity[110, [30, SIDE - 31]].tolist() == [0, 0]
        assert opacity[110, 70:186].min() == pytest.approx(1, abs=1e-6)

    def test_the_source_ends_softly(self):
        row = reach(seen_between(46, SIDE - 46))[110, 25:128]
        steps = np.diff(row)
        assert steps.min() > -1e-6
        assert 0.05 < steps.max() < 0.12

    def test_the_middle_of_the_face_is_always_the_source_s(self):
        opacity = reach(np.zeros((SIDE, SIDE), np.float32))
        assert opacity[60:200, 80:176].min() == 1
        assert not opacity[:, :48].any()

    def test_both_sides_are_treated_alike(self):
        left, right = reach(seen_between(46, SIDE)), reach(seen_between(0, SIDE - 46))
        whole = np.minimum(atlas.masks(SIDE).edge, atlas.masks(SIDE).edge[:, ::-1]) == 1
        assert left[:, ::-1][whole] == pytest.approx(right[whole], abs=1e-5)
        assert np.abs(left - right).max() > 0.99


def test_a_cheek_that_the_source_does_not_show_keeps_the_target_s_pixels():
    source = heads.skin(colour=(70, 95, 150), seed=5)
    source[:, :52] = source[:, -52:] = (20, 18, 16)
    family = MeshFamily(0)
    family.prepare([heads.source(texture=source)])
    placed = heads.mesh(radius=90, yaw=35)
    texture = heads.skin(seed=9)
    mole = np.s_[112:116, 22:234]
    texture[mole] = texture[mole] * np.float32(0.75)
    target = heads.paint(placed, texture)
    result = BgrPicture(target.copy())
    face = heads.face(placed)
    family.swap([Scene(result, [face], (family.observe(heads.frame(target), face),))])
    side = np.zeros((SIDE, SIDE, 3), np.float32)
    side[95:135, 22:34] = side[95:135, -34:-22] = 255
    cheek = heads.paint(placed, side, background=0)[..., 0] == 255
    middle = np.zeros((SIDE, SIDE, 3), np.float32)
    middle[95:135, 80:176] = 255
    inner = heads.paint(placed, middle, background=0)[..., 0] == 255
    changed = np.abs(result.pixels.astype(int) - target).max(axis=2)
    assert np.count_nonzero(cheek) > 100
    assert changed[cheek].max() <= 1
    assert changed[inner].mean() > 5
