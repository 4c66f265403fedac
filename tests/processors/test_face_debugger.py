"""What is drawn, where, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from facefusion.core.values import Face, Size
from facefusion.faces.landmark.points import aligned_points, five_of_sixty_eight, outline_points
from facefusion.faces.mask.base import NO_MASKS, OUTLINE_MASKS
from facefusion.faces.mask.masker import FaceMasker
from facefusion.faces.settings import FaceMaskerSettings
from facefusion.observability.events import Notice
from facefusion.processors.base import Scene, Target, Workshop
from facefusion.processors.face_debugger.processor import (
    DETECTED_COLOUR,
    ESTIMATED_COLOUR,
    KIND,
    READ_COLOUR,
    UNREAD_COLOUR,
    UPPER_SIDE_COLOUR,
    FaceDebugger,
)
from facefusion.processors.face_debugger.settings import FaceDebuggerSettings
from facefusion.vision.geometry import fit_template, invert, transform_points
from facefusion.vision.picture import BgrPicture
from tests.processors.fakes import RecordingSink, oval_face, processed
from tests.toys import heads

FACE = oval_face(80, 60, 30)
HEAD = heads.face(heads.mesh(centre=(150, 150), radius=40, roll=0))
"""With the points where a face has them."""


class Upper:
    """Takes all that lies in the upper half of a crop for the face."""

    def uncovered(self, crops):
        masks = [np.zeros(crop.pixels.shape[:2], np.float32) for crop in crops]
        for mask in masks:
            mask[: len(mask) // 2] = 1
        return masks


def masker(**settings) -> FaceMasker:
    return FaceMasker(FaceMaskerSettings(**settings), OUTLINE_MASKS, Upper())


def drawn(*items: str, faces: tuple[Face, ...] = (FACE,), size: tuple[int, int] = (160, 120), **settings) -> np.ndarray:
    picture = BgrPicture(np.zeros((*size[::-1], 3), np.uint8))
    return np.asarray(processed(FaceDebugger(items, masker(**settings), RecordingSink()), picture, faces).to_bgr())


def colours(pixels: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(colour) for colour in pixels.reshape(-1, 3).tolist()} - {(0, 0, 0)}


def in_frame(points, face: Face = FACE) -> np.ndarray:
    """Points of the crop that masks are laid in, in the frame."""
    to_frame = invert(fit_template(aligned_points(face), "arcface_128", 512))
    return transform_points(to_frame, np.array(points, np.float64))


@pytest.mark.parametrize(
    ("item", "colour"),
    [
        ("face-landmark-5", DETECTED_COLOUR),
        ("face-landmark-5/68", READ_COLOUR),
        ("face-landmark-68", READ_COLOUR),
    ],
)
def test_each_item_is_drawn_in_its_colour(item: str, colour: tuple[int, int, int]) -> None:
    assert colours(drawn(item)) == {colour}


def test_masks_that_rest_on_the_68_points_have_their_colour() -> None:
    assert colours(drawn("face-mask", size=(300, 300), faces=(HEAD,))) == {READ_COLOUR}


def test_five_dots_lie_on_the_five_points() -> None:
    pixels = drawn("face-landmark-5")
    for x, y in np.rint(FACE.landmarks5).astype(int):
        assert tuple(pixels[y, x].tolist()) == DETECTED_COLOUR


def test_the_box_is_drawn_around_the_face_its_upper_side_bolder() -> None:
    pixels = drawn("bounding-box")
    rows, columns = np.nonzero((pixels == DETECTED_COLOUR).all(axis=2))
    assert (columns.min(), columns.max(), rows.max()) == (50, 110, 96)
    rows, columns = np.nonzero((pixels == UPPER_SIDE_COLOUR).all(axis=2))
    assert (columns.min(), columns.max()) == (49, 111)
    assert set(rows) <= {23, 24, 25}
    assert colours(pixels) == {DETECTED_COLOUR, UPPER_SIDE_COLOUR}


@pytest.mark.parametrize(("turns", "side"), [(1, "left"), (2, "bottom"), (3, "right")])
def test_the_upper_side_is_that_of_the_forehead(turns: int, side: str) -> None:
    """Quarter turns counter-clockwise: the forehead goes to the left first."""
    around = np.array((80, 60), np.float32)
    five = FACE.landmarks5 - around
    for _ in range(turns):
        five = np.stack((five[:, 1], -five[:, 0]), axis=1)
    pixels = drawn("bounding-box", faces=(replace(FACE, landmarks5=five + around),))
    rows, columns = np.nonzero((pixels == UPPER_SIDE_COLOUR).all(axis=2))
    where = {"left": columns.max() < 53, "right": columns.min() > 107, "bottom": rows.min() > 93}
    assert where[side]


def test_no_item_no_change() -> None:
    assert colours(drawn()) == set()


def test_what_lies_outside_of_the_picture_is_left_out() -> None:
    away = oval_face(400, 60, 30)
    items = ("bounding-box", "face-landmark-5", "face-landmark-68", "face-mask")
    assert colours(drawn(*items, faces=(away,))) == set()
    assert colours(drawn(*items, faces=(oval_face(160, 120, 30),))) > {READ_COLOUR}


class TestMask:
    """The line runs around what the masks that were chosen let through."""

    def test_the_box_is_the_crop_of_a_swapper(self) -> None:
        pixels = drawn("face-mask", size=(300, 300), faces=(HEAD,), face_mask_blur=1.0)
        corners = in_frame(((1, 1), (510, 1), (510, 510), (1, 510)), HEAD)
        rows, columns = np.nonzero(pixels.any(axis=2))
        low, high = corners.min(axis=0), corners.max(axis=0)
        assert (columns.min(), rows.min()) == pytest.approx(low, abs=1)
        assert (columns.max(), rows.max()) == pytest.approx(high, abs=1)
        middle = np.rint(corners.mean(axis=0)).astype(int)
        assert not pixels[middle[1] - 20 : middle[1] + 20, middle[0] - 20 : middle[0] + 20].any()

    def test_padding_and_what_covers_the_face_narrow_it(self) -> None:
        chosen = {"face_mask_types": ("box", "occlusion"), "face_mask_padding": (25, 0, 0, 50)}
        pixels = drawn("face-mask", size=(300, 300), faces=(HEAD,), **chosen)
        # The upper half, with a soft edge that falls inside, from a quarter down; the right half.
        corners = in_frame(((256, 128), (510, 248)), HEAD)
        rows, columns = np.nonzero(pixels.any(axis=2))
        assert (columns.min(), rows.min()) == pytest.approx(corners.min(axis=0), abs=1.5)
        assert (columns.max(), rows.max()) == pytest.approx(corners.max(axis=0), abs=1.5)

    def test_areas_are_those_of_the_points(self) -> None:
        pixels = drawn("face-mask", size=(300, 300), faces=(HEAD,), face_mask_types=("area",))
        points = outline_points(HEAD)
        assert points is not None
        rows, columns = np.nonzero(pixels.any(axis=2))
        assert points[:, 0].min() - 1 <= columns.min() < columns.max() <= points[:, 0].max() + 1
        assert points[:, 1].min() - 1 <= rows.min() < rows.max() <= points[:, 1].max() + 1

    def test_nothing_is_drawn_where_nothing_is_let_through(self) -> None:
        assert colours(drawn("face-mask", face_mask_padding=(60,))) == set()

    def test_a_face_without_better_points_has_a_colour_of_its_own(self) -> None:
        assert colours(drawn("face-mask", faces=(replace(FACE, mesh=None),))) == {UNREAD_COLOUR}

    def test_what_is_drawn_for_one_face_is_no_part_of_another(self) -> None:
        """Both are looked at before either is drawn on."""
        seen: list[np.ndarray] = []

        class Looks(Upper):
            def uncovered(self, crops):
                seen.extend(crop.pixels.copy() for crop in crops)
                return super().uncovered(crops)

        made = FaceMasker(FaceMaskerSettings(face_mask_types=("occlusion",)), OUTLINE_MASKS, Looks())
        picture = BgrPicture(np.zeros((120, 160, 3), np.uint8))
        FaceDebugger(("face-mask",), made, RecordingSink()).process([Scene(picture, (FACE, FACE), None)])
        assert len(seen) == 2
        assert not any(pixels.any() for pixels in seen)
        assert picture.to_bgr().any()

    def test_masks_heed_what_the_user_chose_but_for_the_softness(self) -> None:
        assert KIND.masks(FaceDebuggerSettings()) is OUTLINE_MASKS
        assert OUTLINE_MASKS.blur == 0
        assert OUTLINE_MASKS.padded

    def test_masks_that_are_not_drawn_do_not_count(self) -> None:
        """So that no model is fetched for them."""
        settings = FaceDebuggerSettings(face_debugger_items=("bounding-box", "face-landmark-68"))
        assert KIND.masks(settings) is NO_MASKS


ESTIMATE = (np.stack(np.divmod(np.arange(68), 8), axis=1) * 9 + 20).astype(np.float32)


def test_an_estimate_is_drawn_where_there_is_one() -> None:
    pixels = drawn("face-landmark-68/5", faces=(replace(FACE, estimate68=ESTIMATE),))
    assert colours(pixels) == {ESTIMATED_COLOUR}
    for x, y in ESTIMATE.astype(int):
        assert tuple(pixels[y, x].tolist()) == ESTIMATED_COLOUR


def test_where_there_is_no_estimate_it_is_said_once() -> None:
    sink = RecordingSink()
    settings = FaceDebuggerSettings(face_debugger_items=("face-landmark-68/5",))
    target = Target(size=Size(8, 8), frame_rate=0, is_video=False)
    debugger = KIND.build(Workshop(settings, {}, lambda card: pytest.fail("no graph"), {}, (), target, sink))
    picture = BgrPicture(np.zeros((120, 160, 3), np.uint8))
    debugger.process([Scene(picture, (), None), Scene(picture, (replace(FACE, estimate68=ESTIMATE),), None)])
    assert sink.events == []
    for _ in range(2):
        debugger.process([Scene(picture, (FACE, FACE), None)])
    assert sink.events == [
        Notice(
            "face_debugger: face-landmark-68/5 is not drawn: the landmarker in use reads the 68 points off the "
            "picture, with no estimate from the five before; choose another --face-landmarker-model, and a "
            "--face-landmarker-score above 0.",
            warning=True,
        )
    ]


def test_points_of_a_landmarker_are_drawn_where_there_are_some() -> None:
    points = np.stack(np.divmod(np.arange(68), 8), axis=1).astype(np.float32) * 9 + 20
    seen = drawn("face-landmark-68", "face-landmark-5/68", faces=(replace(FACE, landmarks68=points),))
    for x, y in np.rint(np.concatenate((points, five_of_sixty_eight(points)))).astype(int):
        assert tuple(seen[y, x].tolist()) == READ_COLOUR
    assert not seen[:, 110:].any()
