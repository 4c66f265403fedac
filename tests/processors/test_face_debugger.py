"""What is drawn, where, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from facefusion.faces.landmark.points import five_of_sixty_eight
from facefusion.observability.events import Notice
from facefusion.processors.base import Target, Workshop
from facefusion.processors.face_debugger.processor import (
    BOX_COLOUR,
    DETECTED_COLOUR,
    KIND,
    MASK_COLOUR,
    OUTLINE_COLOUR,
    FaceDebugger,
)
from facefusion.processors.face_debugger.settings import FaceDebuggerSettings
from facefusion.vision.picture import BgrPicture
from tests.processors.fakes import RecordingSink, oval_face, processed


def drawn(*items: str) -> np.ndarray:
    picture = BgrPicture(np.zeros((120, 160, 3), np.uint8))
    return np.asarray(processed(FaceDebugger(items), picture, (oval_face(80, 60, 30),), None).to_bgr())


def colours(pixels: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(colour) for colour in pixels.reshape(-1, 3).tolist()} - {(0, 0, 0)}


@pytest.mark.parametrize(
    ("item", "colour"),
    [
        ("bounding-box", BOX_COLOUR),
        ("face-landmark-5", DETECTED_COLOUR),
        ("face-landmark-5/68", OUTLINE_COLOUR),
        ("face-landmark-68", OUTLINE_COLOUR),
        ("face-mask", MASK_COLOUR),
    ],
)
def test_each_item_is_drawn_in_its_colour(item: str, colour: tuple[int, int, int]) -> None:
    assert colours(drawn(item)) == {colour}


def test_five_dots_lie_on_the_five_points() -> None:
    pixels = drawn("face-landmark-5")
    for x, y in np.rint(oval_face(80, 60, 30).landmarks5).astype(int):
        assert tuple(pixels[y, x].tolist()) == DETECTED_COLOUR


def test_the_box_is_drawn_around_the_face() -> None:
    rows, columns = np.nonzero(drawn("bounding-box").any(axis=2))
    assert (columns.min(), columns.max(), rows.min(), rows.max()) == (50, 110, 24, 96)


def test_no_item_no_change() -> None:
    assert colours(drawn()) == set()


def test_what_cannot_be_drawn_is_said() -> None:
    sink = RecordingSink()
    settings = FaceDebuggerSettings(face_debugger_items=("face-landmark-68/5",))
    target = Target(size=BgrPicture(np.zeros((8, 8, 3), np.uint8)).size, frame_rate=0, is_video=False)
    KIND.build(Workshop(settings, {}, lambda card: pytest.fail("no graph"), {}, (), target, sink))
    notices = [event for event in sink.events if isinstance(event, Notice)]
    assert len(notices) == 1
    assert "face-landmark-68/5 is not drawn" in notices[0].message
    assert notices[0].warning


def test_points_of_a_landmarker_are_drawn_where_there_are_some() -> None:
    points = np.stack(np.divmod(np.arange(68), 8), axis=1).astype(np.float32) * 9 + 20
    face = replace(oval_face(80, 60, 30), landmarks68=points)
    picture = BgrPicture(np.zeros((120, 160, 3), np.uint8))
    processed(FaceDebugger(("face-landmark-68", "face-landmark-5/68")), picture, (face,), None)
    seen = picture.to_bgr()
    for x, y in np.rint(np.concatenate((points, five_of_sixty_eight(points)))).astype(int):
        assert tuple(seen[y, x].tolist()) == OUTLINE_COLOUR
    assert not seen[:, 110:].any()
