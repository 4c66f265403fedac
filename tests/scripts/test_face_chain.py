"""The figures that the script prints on the face chain, on pictures and numbers whose answer is known."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from facefusion.vision.picture import BgrPicture
from scripts.face_chain.conditions import CANVAS, USUAL, cut, laid
from scripts.face_chain.identity import equal_error
from scripts.face_chain.photos import judge_photos, propose
from scripts.face_chain.steadiness import report_moves, trembling, wander, watch
from scripts.face_chain.table import COLUMNS, Photo, Place, alone, read_table
from tests.faces.stage import Actor, Troupe, draw, frames


def write(path: Path, *rows: str) -> Path:
    path.write_text("\n".join((",".join(COLUMNS), *rows)), encoding="utf-8")
    return path


def place(left: float, top: float, right: float, bottom: float) -> Place:
    return Place(np.array((left, top, right, bottom), np.float32), "")


def test_table_is_read(tmp_path: Path) -> None:
    rows = ("a/1.jpg,10,20,30,60,anna", "wall.jpg,,,,,", "a/1.jpg,1,2,3,4,-", "a/1.jpg,5,6,7,8,")
    first, wall = read_table(write(tmp_path / "faces.csv", *rows), tmp_path)
    assert (first.path, first.name) == (tmp_path / "a" / "1.jpg", "a/1.jpg")
    assert [(face.person, face.box.tolist()) for face in first.faces] == [
        ("anna", [10, 20, 30, 60]),
        ("", [5, 6, 7, 8]),
    ]
    assert [other.box.tolist() for other in first.others] == [[1, 2, 3, 4]]
    assert (wall.name, wall.faces, wall.others) == ("wall.jpg", [], [])
    assert (first.faces[0].side, first.faces[0].middle) == (40, (20, 40))


@pytest.mark.parametrize("row", ["a.jpg,1,2,x,4,", "a.jpg,1,,3,4,"])
def test_line_that_is_no_box_is_named(tmp_path: Path, row: str) -> None:
    with pytest.raises(ValueError, match=r"faces.csv, line 3: four numbers or none make a box"):
        read_table(write(tmp_path / "faces.csv", "b.jpg,1,2,3,4,", row), tmp_path)


def test_photos_of_one_face_and_nothing_doubtful() -> None:
    face, small = place(0, 0, 100, 200), place(0, 0, 50, 60)
    photos = [
        Photo(Path("one"), "one", [face]),
        Photo(Path("small"), "small", [small]),
        Photo(Path("two"), "two", [face, small]),
        Photo(Path("doubtful"), "doubtful", [face], [small]),
    ]
    assert [photo.name for photo, _ in alone(photos, 100)] == ["one"]


def test_finds_are_compared_with_what_is_written_down(tmp_path: Path) -> None:
    picture = draw([Actor(1, 60, 100), Actor(2, 160, 100), Actor(4, 260, 100)])
    cv2.imwrite(str(tmp_path / "three.png"), picture.pixels)
    proposed = tmp_path / "proposed.csv"
    propose(tmp_path, proposed, Troupe().analyser)
    boxes = sorted(face.box.tolist() for face in read_table(proposed, tmp_path)[0].faces)
    assert boxes == [pytest.approx([x - 30, 70, x + 30, 130], abs=2) for x in (60, 160, 260)]
    rows = ("three.png,30,70,90,130,", "three.png,30,160,90,220,", "three.png,232,72,290,130,-")
    (judged,) = judge_photos(read_table(write(tmp_path / "faces.csv", *rows), tmp_path), Troupe().analyser)
    assert judged.found == 1
    assert [lost.middle for lost in judged.missed] == [(60, 190)]
    # The one at 260 does not count.
    assert [round(float(face.box[0] + face.box[2]) / 2) for face in judged.false] == [160]


@pytest.mark.parametrize("edge", ["left", "right", "top", "bottom"])
def test_cut_face_is_where_the_case_says(edge: str) -> None:
    pixels = np.zeros((300, 400, 3), np.uint8)
    cv2.circle(pixels, (220, 140), 6, (255, 255, 255), -1)
    case = cut(BgrPicture(pixels), place(170, 80, 270, 200), edge, 0.3)
    shown = case.picture.to_bgr()[..., 0] > 128
    rows, columns = np.nonzero(shown)
    assert (columns.mean(), rows.mean()) == (pytest.approx(case.x, abs=1), pytest.approx(case.y, abs=1))
    width, height = 100 * USUAL / 120, USUAL
    beyond = {
        "left": width / 2 - case.x,
        "right": case.x + width / 2 - case.picture.size.width,
        "top": height / 2 - case.y,
        "bottom": case.y + height / 2 - case.picture.size.height,
    }[edge]
    assert beyond == pytest.approx(0.3 * (width if edge in ("left", "right") else height), abs=1)


def test_laid_face_is_as_large_as_asked_for_in_the_middle() -> None:
    pixels = np.zeros((300, 400, 3), np.uint8)
    pixels[80:200, 170:270] = 255
    rows, columns = np.nonzero(laid(BgrPicture(pixels), place(169.5, 79.5, 269.5, 199.5), 60).picture.to_bgr()[..., 0])
    assert np.ptp(rows) == pytest.approx(60, abs=2)
    assert np.ptp(columns) == pytest.approx(50, abs=2)
    assert (columns.mean(), rows.mean()) == pytest.approx(((CANVAS - 1) / 2, (CANVAS - 1) / 2), abs=1)


def test_equal_error() -> None:
    assert equal_error(np.array([0.6, 0.8]), np.array([0.1, 0.3])) == (0.0, 0.6)
    # At 0.4 one of four of each kind is on the wrong side.
    error, limit = equal_error(np.array([0.2, 0.4, 0.6, 0.7]), np.array([0.0, 0.1, 0.3, 0.5]))
    assert (error, limit) == (0.25, 0.4)


def test_trembling_and_wander_in_percent_of_the_eyes_distance() -> None:
    still = np.zeros((20, 5, 2), np.float32)
    assert (trembling(still, 50), wander(still, 50)) == (0, 0)
    moving = still + np.arange(20, dtype=np.float32)[:, None, None]
    assert trembling(moving, 50) == 0
    shaking = still.copy()
    shaking[::2, :, 0] += 2
    assert trembling(shaking, 50) == pytest.approx(100 * 4 / 50)
    assert wander(shaking, 50) == pytest.approx(100 * 1 / 50)


def test_everybody_is_watched() -> None:
    people = watch(frames([[Actor(1, 80 + step, 100), Actor(2, 240, 120)] for step in range(30)]), Troupe().analyser)
    assert sorted(len(one.frames) for one in people.values()) == [30, 30]
    for one in people.values():
        read, given = one.both
        assert read.shape == given.shape == (30, 468, 2)
        assert np.hypot(*(read - given).mean(axis=1).T).max() < 2


def test_lag_of_drawn_faces_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cv2.imwrite(str(tmp_path / "one.png"), draw([Actor(1, 160, 120, 150)]).pixels)
    photos = read_table(write(tmp_path / "faces.csv", "one.png,85,45,235,195,"), tmp_path)
    report_moves(photos, Troupe().analyser)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "## Lag of a face that starts and stops at once, at 25 frames/s; worst of 1 photo"
    rows = [[float(part) for part in line.replace("|", " ").split()] for line in lines[3:-1]]
    assert [row[0] for row in rows] == [0.5, 1, 2, 4, 8]
    # Eyes of a drawn face are 0.6 of its side apart: 120 pixels.
    assert [row[1] for row in rows] == pytest.approx([120 * speed / 25 for speed in (0.5, 1, 2, 4, 8)], rel=0.05)
    assert max(row[5] for row in rows) < 3
