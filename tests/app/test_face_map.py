"""Several people replaced in one pass, in whole steps with the embedded models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import cv2
import numpy as np
import pytest
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from facefusion.app.engine import Engine
from facefusion.app.fingerprint import fingerprint
from facefusion.core.errors import FaceNotFoundError, UsageError
from facefusion.core.report import RunReport
from facefusion.observability.events import Notice
from tests.app.conftest import SOURCE, TARGET, Run, settings
from tests.processors.fakes import RecordingSink

SIDE = 288
"""Of each person's half of the picture."""


@pytest.fixture(scope="module")
def man() -> np.ndarray:
    """The person of the demo's target."""
    with av.open(str(TARGET)) as container:
        frame = next(container.decode(video=0)).to_ndarray(format="bgr24")
    left = (frame.shape[1] - frame.shape[0]) // 2
    return cv2.resize(frame[:, left : left + frame.shape[0]], (SIDE, SIDE), interpolation=cv2.INTER_AREA)


@pytest.fixture(scope="module")
def woman() -> np.ndarray:
    """The person of the demo's source."""
    photo = cv2.imread(str(SOURCE))
    assert photo is not None
    return cv2.resize(photo[40:552], (SIDE, SIDE), interpolation=cv2.INTER_AREA)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, man: np.ndarray, woman: np.ndarray) -> Path:
    """The working folder: both people alone and side by side, and a wall."""
    monkeypatch.chdir(tmp_path)
    wall = np.full((SIDE, SIDE, 3), 128, np.uint8)
    for name, pixels in {"man": man, "woman": woman, "pair": np.hstack([man, woman]), "wall": wall}.items():
        cv2.imwrite(f"{name}.png", pixels)
    return tmp_path


@pytest.fixture
def mapped(run: Run) -> Callable[..., RunReport]:
    """Run a step on the pair by a map, without any other source."""

    def run_step(*items: str, **values: Any) -> RunReport:
        base: dict[str, Any] = {"source_paths": (), "target_path": Path("pair.png"), "trim_frame_end": None}
        return run(Path("out.png"), **base | values, face_map=items)

    return run_step


def halves(name: str = "out.png") -> tuple[np.ndarray, np.ndarray]:
    pixels = cv2.imread(name)
    assert pixels is not None
    return pixels[:, :SIDE], pixels[:, SIDE:]


def changed(pixels: np.ndarray, before: np.ndarray) -> float:
    """Share of the pixels that differ."""
    return float((pixels != before).any(axis=2).mean())


@pytest.mark.usefixtures("folder")
def test_each_gets_their_own_source_and_who_is_not_mapped_stays(
    mapped: Callable[..., RunReport], man: np.ndarray, woman: np.ndarray
) -> None:
    assert mapped("man.png=woman.png").faces == 1
    his, hers = halves()
    assert changed(his, man) > 0.05
    assert changed(hers, woman) == 0
    report = mapped("woman.png=man.png")
    assert (report.faces, report.faces_found) == (1, 2)
    assert changed(halves()[0], man) == 0
    new_hers = halves()[1]
    assert mapped("woman.png=man.png", "man.png=woman.png").faces == 2
    np.testing.assert_array_equal(halves(), (his, new_hers))


@pytest.mark.usefixtures("folder")
def test_numbers_are_counted_in_the_order(mapped: Callable[..., RunReport], man: np.ndarray, woman: np.ndarray) -> None:
    mapped("man.png=woman.png", "woman.png=man.png")
    by_picture = halves()
    mapped("0=woman.png", "1=man.png", face_selector_order="left-right")
    np.testing.assert_array_equal(halves(), by_picture)
    mapped("0=woman.png", face_selector_order="right-left")
    assert (changed(halves()[0], man), changed(halves()[1], woman) > 0.05) == (0, True)


@pytest.mark.usefixtures("folder")
def test_other_processors_work_on_all_who_are_mapped(
    mapped: Callable[..., RunReport], man: np.ndarray, woman: np.ndarray
) -> None:
    # The debugger needs no source, so the sources are not read.
    values = {"processors": ("face_debugger",), "face_debugger_items": ("bounding-box",)}
    assert mapped("man.png=wall.png", "woman.png=none.png", **values).faces == 2
    assert changed(halves()[0], man) > 0
    assert changed(halves()[1], woman) > 0


def write_video(path: str, pictures: Sequence[np.ndarray]) -> None:
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=25)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 2 * SIDE, SIDE, "yuv420p"
        for picture in pictures:
            container.mux(stream.encode(VideoFrame.from_ndarray(picture, format="bgr24")))
        container.mux(stream.encode(None))


def brightness(name: str) -> np.ndarray:
    """(frames, height, width)."""
    with av.open(name) as container:
        return np.stack([frame.to_ndarray(format="gray") for frame in container.decode(video=0)]).astype(np.float32)


@pytest.mark.usefixtures("folder")
def test_people_who_change_sides_keep_their_own_in_every_frame(
    mapped: Callable[..., RunReport], man: np.ndarray, woman: np.ndarray
) -> None:
    write_video("clip.mp4", [np.hstack([man, woman])] * 6 + [np.hstack([woman, man])] * 6)
    for item, is_right in (("man.png=woman.png", False), ("woman.png=man.png", True)):
        values = {"target_path": Path("clip.mp4"), "output_path": Path("out.mp4"), "output_video_quality": 95}
        assert mapped(item, **values).faces == 12
        gaps = np.abs(brightness("out.mp4") - brightness("clip.mp4"))
        moved = np.stack([gaps[:, :, :SIDE].mean(axis=(1, 2)), gaps[:, :, SIDE:].mean(axis=(1, 2))], axis=1)
        meant = [int(is_right)] * 6 + [int(not is_right)] * 6
        assert moved.argmax(axis=1).tolist() == meant
        assert (moved.max(axis=1) > 2 * moved.min(axis=1)).all()


@pytest.mark.usefixtures("folder")
def test_a_source_without_a_place_is_refused_and_sound_is_not(mapped: Callable[..., RunReport]) -> None:
    with pytest.raises(UsageError) as refused:
        mapped("man.png=woman.png", source_paths=(Path("sound.wav"), Path("me too.png")))
    assert str(refused.value) == (
        "--face-map says who becomes whom, and nobody becomes the source me too.png. "
        "Name it in --face-map, or leave it out of --source-paths."
    )
    assert mapped("man.png=woman.png", source_paths=(Path("sound.wav"),)).faces == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("item", "fault"),
    [
        ("wall.png=woman.png", "No face was found in the reference wall.png"),
        ("man.png=woman.png+wall.png", "No face was found in the source wall.png"),
        ("2=woman.png", "No frame of the target from 0 on shows 3 faces, and --face-map names face 2, counted from 0"),
    ],
)
def test_what_shows_no_face_is_named(mapped: Callable[..., RunReport], item: str, fault: str) -> None:
    with pytest.raises(FaceNotFoundError) as refused:
        mapped(item)
    assert refused.value.fault == fault
    assert not Path("out.png").exists()


@pytest.mark.usefixtures("folder")
def test_a_map_without_anything_that_works_on_faces_is_said_to_do_nothing(
    mapped: Callable[..., RunReport], sink: RecordingSink
) -> None:
    mapped("man.png=woman.png", processors=("frame_enhancer",))
    said = [event.message for event in sink.events if isinstance(event, Notice) and event.warning]
    assert said == ["--face-map has no effect: none of the chosen processors works on faces."]


@pytest.mark.usefixtures("folder")
def test_what_is_doubtful_is_said(mapped: Callable[..., RunReport], sink: RecordingSink) -> None:
    mapped("man.png=woman.png", "0=man.png", face_selector_order="left-right", face_selector_mode="many")
    said = [event.message for event in sink.events if isinstance(event, Notice) and event.warning]
    assert said == [
        "face_selector_mode = many has no effect: --face-map says who is worked on.",
        "The references man.png and face 0 of --face-map look alike, so their sources may be mixed up: "
        "do they show one person?",
    ]


@pytest.mark.usefixtures("folder")
def test_what_the_files_hold_and_who_becomes_whom_counts_for_going_on() -> None:
    engine: Any = Engine()
    machine: Any = SimpleNamespace(
        devices=[SimpleNamespace(name="")], providers=[], runtime=SimpleNamespace(version=""), half=None
    )

    def traces(*items: str) -> dict[str, str]:
        models: Any = SimpleNamespace(cards={}, digests={})
        encoding: Any = "encoding"
        return dict(fingerprint(settings(engine, face_map=items), Path("pair.png"), models, machine, encoding, 1))

    known = traces("man.png=woman.png", "1=wall.png+woman.png")
    Path("copy.png").hardlink_to("man.png")
    assert traces("./copy.png=woman.png", "1=wall.png+woman.png") == known
    for other in (
        ("man.png=woman.png", "2=wall.png+woman.png"),
        ("man.png=woman.png", "1=woman.png+wall.png"),
        ("man.png=woman.png+wall.png", "1=woman.png"),
        ("wall.png=woman.png", "1=wall.png+woman.png"),
    ):
        assert traces(*other) != known
    Path("woman.png").write_bytes(Path("wall.png").read_bytes())
    assert traces("man.png=woman.png", "1=wall.png+woman.png") != known
