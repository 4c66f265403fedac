"""What the user's masks leave of a swap by the mesh, which has an outline of its own."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.faces.landmark.points import sixty_eight_points
from facefusion.faces.mask.base import SWAP_MASKS
from facefusion.faces.mask.masker import FaceMasker
from facefusion.faces.settings import FaceMaskerSettings
from facefusion.processors.face_swapper.families.mesh.family import MeshFamily
from facefusion.processors.face_swapper.processor import KIND, FaceSwapper
from facefusion.processors.face_swapper.settings import FaceSwapperSettings
from facefusion.vision.picture import BgrPicture
from tests.processors.fakes import processed
from tests.toys import heads

PLACED = heads.mesh(centre=(160, 120), radius=62, roll=3)
TARGET = heads.paint(PLACED, heads.skin(seed=9))
SOURCE = heads.source(texture=heads.skin(colour=(70, 95, 150), seed=5))


class Shows:
    """An occluder and a parser that show what a function of the crop says."""

    def __init__(self, shown):
        self._shown = shown

    def uncovered(self, crops):
        return [self._shown(crop.pixels).astype(np.float32) for crop in crops]

    def regions(self, crops, names):
        return self.uncovered(crops)


def swapped(shows=None, use=SWAP_MASKS, target=TARGET, **settings):
    family = MeshFamily(0.5, FaceMasker(FaceMaskerSettings(**settings), use, shows, shows))
    family.prepare([SOURCE])
    faces = [heads.face(PLACED)]
    picture, swapper = BgrPicture(target.copy()), FaceSwapper(family)
    processed(swapper, picture, faces, swapper.observe(heads.frame(target), faces))
    return picture.pixels


def changed(result, target=TARGET):
    return (result != target).any(axis=2)


@pytest.fixture(scope="module")
def whole():
    return swapped()


@pytest.mark.parametrize(
    "settings", [{"face_mask_blur": 0.0}, {"face_mask_blur": 1.0}, {"face_mask_areas": ("mouth",)}]
)
def test_a_box_without_padding_is_what_the_mesh_draws_by_itself(whole, settings):
    np.testing.assert_array_equal(swapped(**settings), whole)


def test_padding_narrows_it_from_its_side_and_leaves_the_rest_as_it_is(whole):
    result = swapped(face_mask_padding=(50, 0, 0, 0), face_mask_blur=0.0)
    eyes, chin = sixty_eight_points(PLACED)[36:48, 1].mean(), sixty_eight_points(PLACED)[8, 1]
    rows = np.nonzero(changed(result).any(axis=1))[0]
    assert rows.min() > eyes
    assert rows.max() == np.nonzero(changed(whole).any(axis=1))[0].max()
    below = np.s_[int(eyes + 0.5 * (chin - eyes)) :]
    np.testing.assert_array_equal(result[below], whole[below])
    assert changed(whole)[: int(eyes)].any()


def test_all_of_the_padding_leaves_the_frame(whole):
    np.testing.assert_array_equal(swapped(face_mask_padding=(100,), face_mask_blur=0.0), TARGET)


def test_an_area_bounds_it(whole):
    result = swapped(face_mask_types=("area",), face_mask_areas=("mouth",))
    lips = sixty_eight_points(PLACED)[48:68]
    rows, columns = np.nonzero(changed(result))
    assert lips[:, 0].min() - 3 <= columns.min() < columns.max() <= lips[:, 0].max() + 3
    assert lips[:, 1].min() - 3 <= rows.min() < rows.max() <= lips[:, 1].max() + 3
    assert not changed(result)[~changed(whole)].any()


def left_half(crop):
    return np.arange(crop.shape[1])[None].repeat(crop.shape[0], axis=0) < crop.shape[1] / 2


@pytest.mark.parametrize("kind", ["occlusion", "region"])
def test_what_covers_the_face_or_is_no_chosen_region_is_kept(whole, kind):
    result = swapped(Shows(left_half), face_mask_types=("box", kind))
    # The head is turned by 3 degrees, and the soft edge is 6 pixels wide.
    assert not changed(result)[:, 168:].any()
    assert changed(whole)[:, 168:].any()
    np.testing.assert_array_equal(result[:, :145], whole[:, :145])
    assert changed(whole)[:, :145].any()


def test_an_occluder_that_sees_nothing_in_front_changes_nothing(whole):
    shows = Shows(lambda crop: np.ones(crop.shape[:2]))
    result = swapped(shows, face_mask_types=("occlusion",))
    assert np.abs(result.astype(int) - whole).max() <= 1


def test_the_swapper_heeds_every_mask():
    assert KIND.masks(FaceSwapperSettings()) == SWAP_MASKS
