"""What covers a face as the mesh and hands tell it, on painted heads."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facefusion.core.errors import FaceFusionError
from facefusion.core.values import Size
from facefusion.faces.bench import Bench
from facefusion.faces.hands.shape import draw_hand
from facefusion.faces.mask.base import FaceCrop
from facefusion.faces.mask.families import build_occluder
from facefusion.faces.mask.mesh import MeshOccluder
from facefusion.faces.surface import topology
from facefusion.faces.surface.drawn import draw_surface
from facefusion.vision.geometry import SquareRegion, transform_mesh, transform_points
from facefusion.vision.picture import BgrPicture
from tests.toys import hands as toys
from tests.toys import heads
from tests.toys import masks as mask_toys
from tests.toys.pooled import Toys

PLACED = heads.mesh(centre=(160, 120), radius=60)
TO_CROP = SquareRegion(160, 120, 180, 0.1).to_crop(256)


class Hands:
    """Finds the hands that it was told of, and remembers where it looked."""

    def __init__(self, *hands) -> None:
        self._hands = list(hands)
        self.looked: list[object] = []

    def near(self, picture, mesh):
        self.looked.append(picture)
        return self._hands


def crop_of(pixels, placed=PLACED, to_crop=TO_CROP, size=256):
    picture = BgrPicture(pixels)
    return FaceCrop(picture.warp(to_crop, Size(size, size)), heads.face(placed), to_crop, picture)


def shown(texture=None, placed=PLACED, hands=(), to_crop=TO_CROP, size=256):
    pixels = heads.paint(placed, heads.skin() if texture is None else texture)
    return MeshOccluder(Hands(*hands)).uncovered([crop_of(pixels, placed, to_crop, size)])[0]


def silhouette(placed=PLACED, to_crop=TO_CROP, size=256):
    """The outline of the mesh, filled."""
    oval = transform_points(to_crop, placed[list(topology.OVAL), :2].astype(np.float64))
    mask = np.zeros((size, size), np.uint8)
    cv2.fillPoly(mask, [np.rint(oval).astype(np.int32)], 255)
    return mask > 0


def inner(mask, pixels=3):
    return cv2.erode(mask.astype(np.uint8), np.ones((2 * pixels + 1,) * 2)) > 0


def outer(mask, pixels=3):
    return cv2.dilate(mask.astype(np.uint8), np.ones((2 * pixels + 1,) * 2)) > 0


class TestFace:
    def test_a_bare_face_is_what_its_mesh_covers(self):
        mask = shown()
        assert mask.dtype == np.float32
        assert mask[inner(silhouette())].mean() > 0.95
        assert (mask[~outer(silhouette())] == 0).all()

    @pytest.mark.parametrize("size", [64, 300])
    def test_a_mask_has_the_size_of_its_crop(self, size):
        to_crop = SquareRegion(160, 120, 180, 0.1).to_crop(size)
        mask = shown(to_crop=to_crop, size=size)
        assert mask.shape == (size, size)
        assert mask[inner(silhouette(to_crop=to_crop, size=size))].mean() > 0.95

    def test_hair_over_the_forehead_is_left_out(self):
        texture = heads.skin()
        texture[:68] = (30, 35, 45)
        mask, crop = shown(texture), TO_CROP
        forehead, chin = (transform_points(crop, PLACED[[index], :2].astype(np.float64))[0] for index in (151, 199))
        assert mask[int(forehead[1]), int(forehead[0])] < 0.2
        assert mask[int(chin[1]), int(chin[0])] > 0.9

    def test_a_surgical_mask_is_left_out(self):
        texture = heads.skin()
        texture[132:] = (235, 235, 230)
        x, y = transform_points(TO_CROP, PLACED[[199], :2].astype(np.float64))[0].astype(int)
        assert shown(texture)[y, x] < 0.1

    def test_the_mouth_belongs_to_the_face_however_dark_it_is(self):
        placed = heads.mesh(centre=(160, 120), radius=60, open_mouth=0.06)
        between = placed[[13, 14], :2].mean(axis=0).astype(np.float64)
        x, y = transform_points(TO_CROP, between[None])[0].astype(int)
        assert shown(placed=placed)[y, x] > 0.999

    @settings(max_examples=15)
    @given(st.floats(-60, 60), st.floats(-180, 180), st.floats(20, 80), st.integers(0, 5))
    def test_values_lie_between_0_and_1_whatever_the_pose(self, yaw, roll, radius, seed):
        placed = heads.mesh(yaw=yaw, roll=roll, radius=radius)
        mask = shown(heads.skin(seed=seed), placed)
        assert 0 <= mask.min() <= mask.max() <= 1
        outside = ~outer(silhouette(placed) | (draw_surface(UNIT, in_crop(placed), Size(256, 256), **EDGES) > 0))
        assert (mask[outside] == 0).all()

    def test_a_face_without_a_mesh_is_refused(self):
        crop = crop_of(heads.paint(PLACED, heads.skin()))
        with pytest.raises(FaceFusionError) as refused:
            MeshOccluder(Hands()).uncovered([replace(crop, face=replace(crop.face, mesh=None))])
        assert str(refused.value) == (
            "the occluder 'mesh' needs the face mesh of each face and got a face without. "
            "Choose another --face-occluder-model, or leave 'occlusion' out of --face-mask-types."
        )


class TestHands:
    def test_they_are_left_out_and_nothing_else_is(self):
        square = SquareRegion(175, 140, 70, 0.4)
        hand = transform_mesh(np.linalg.inv(np.vstack((square.to_crop(224), (0, 0, 1))))[:2], toys.open_hand())
        bare, covered = shown(), shown(hands=(hand,))
        drawn = draw_hand(transform_mesh(TO_CROP, hand), Size(256, 256)) > 0
        assert (drawn & (bare > 0)).sum() > 500
        assert (covered[drawn] == 0).all()
        np.testing.assert_array_equal(covered[~drawn], bare[~drawn])

    def test_they_are_looked_for_in_the_picture_and_not_in_the_crop(self):
        hands = Hands()
        first, second = (crop_of(heads.paint(PLACED, heads.skin(seed=seed))) for seed in (0, 1))
        masks = MeshOccluder(hands).uncovered([first, second])
        assert hands.looked == [first.picture, second.picture]
        assert len(masks) == 2
        assert MeshOccluder(hands).uncovered([]) == []


UNIT = np.ones((8, 8), np.float32)
EDGES = {"between_lips": 0.5, "outside": 0.0}


def in_crop(placed):
    return transform_mesh(TO_CROP, placed)


def _cross(first, second):
    return first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]


class TestDrawn:
    def test_each_vertex_shows_its_place_on_the_unwrapped_face(self):
        ramp = np.tile(((np.arange(256) + 0.5) / 256).astype(np.float32), (256, 1))
        for axis, unwrapped in enumerate((ramp, np.ascontiguousarray(ramp.T))):
            drawn = draw_surface(unwrapped, PLACED, heads.FRAME, between_lips=0, outside=0)
            for vertex in (4, 151, 50, 280, 199):
                x, y = np.rint(PLACED[vertex, :2]).astype(int)
                assert drawn[y, x] == pytest.approx(topology.texture_coordinates()[vertex, axis], abs=0.01)

    @pytest.mark.parametrize("yaw", [-60, 60])
    def test_what_is_nearer_hides_what_is_behind_it(self, yaw):
        """The far cheek behind the nose, worked out triangle by triangle."""
        placed = heads.mesh(centre=(160, 120), radius=80, yaw=yaw)
        ramp = np.tile(((np.arange(256) + 0.5) / 256).astype(np.float32), (256, 1))
        drawn = draw_surface(ramp, placed, heads.FRAME, between_lips=0, outside=-1)
        corners = topology.triangles()
        a, b, c = (placed[corners[:, corner], :2].astype(np.float64) for corner in range(3))
        area = _cross(b - a, c - a)
        hidden = 0
        for y, x in np.argwhere(drawn >= 0)[::23]:
            at = np.array((x, y), np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):
                shares = np.stack((_cross(b - at, c - at), _cross(c - at, a - at), _cross(a - at, b - at)), 1)
                shares /= area[:, None]
            (over,) = np.nonzero((shares > 0.02).all(axis=1))
            depths, places = (
                (shares[over] * values[corners[over]]).sum(axis=1)
                for values in (placed[:, 2], topology.texture_coordinates()[:, 0])
            )
            if len(over) > 1 and np.ptp(depths) > 20 and np.ptp(places) > 0.05:
                hidden += 1
                assert drawn[y, x] == pytest.approx(places[depths.argmin()], abs=0.02)
        assert hidden > 10

    def test_what_is_no_face_and_what_is_between_the_lips_is_said(self):
        placed = heads.mesh(open_mouth=0.06)
        drawn = draw_surface(UNIT, placed, heads.FRAME, between_lips=0.25, outside=0.5)
        assert set(np.unique(drawn).tolist()) == {0.25, 0.5, 1.0}
        x, y = placed[[13, 14], :2].mean(axis=0).astype(int)
        assert drawn[y, x] == 0.25
        assert drawn[0, 0] == 0.5


def test_the_family_is_built_from_its_entry_and_the_models_beside_it(tmp_path):
    """A picture as red as it is green is all palms, of which none is a hand twice over."""
    numbers = np.concatenate(((0, 0, 40, 40), np.zeros(14)))
    beside = {"palm_detection": toys.palm_detector(numbers), "hand_landmarks": toys.hand_reader(toys.open_hand())}
    families = {"palm_detection": "palm", "hand_landmarks": "joints"}
    with Toys(tmp_path) as pool:
        graphs = {name: pool.run(graph) for name, graph in beside.items()}
        bench = Bench(lambda card: graphs[card.name], {name: toys.card(name, families[name]) for name in beside})
        card = mask_toys.card("mesh", "mesh", companions=("palm_detection", "hand_landmarks"))
        occluder = build_occluder(replace(card, file=None), bench)
        crop = crop_of(heads.paint(PLACED, heads.skin()))
        np.testing.assert_array_equal(occluder.uncovered([crop])[0], shown())
    assert len(graphs["palm_detection"].runs) == 1
