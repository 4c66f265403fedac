"""What a second step in one process need not do again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from facefusion.app import selection, sources
from facefusion.app.engine import Engine
from facefusion.core.errors import FaceNotFoundError
from facefusion.faces.selection import find_reference
from facefusion.faces.sources import find_source_faces
from facefusion.processors.face_swapper.families.mesh import family
from facefusion.processors.face_swapper.families.mesh.identity import prepare_identity
from tests.app.conftest import SOURCE, Run


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.release_models()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done: photos that were looked at, identities that were prepared."""
    done: list[str] = []

    def finding(*words: object) -> object:
        done.append("look")
        return find_source_faces(*words)  # type: ignore[arg-type]

    def preparing(*words: object) -> object:
        done.append("prepare")
        return prepare_identity(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(sources, "find_source_faces", finding)
    monkeypatch.setattr(family, "prepare_identity", preparing)
    return done


@pytest.fixture
def demo_after_black(tmp_path: Path) -> Path:
    """Two black frames, then the source photo."""
    photo = cv2.imread(str(SOURCE))
    assert photo is not None
    face = np.zeros((256, 256, 3), np.uint8)
    cv2.resize(photo, (256, 256), dst=face)
    path = tmp_path / "target.mkv"
    with av.open(path, "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width = stream.height = 256
        stream.pix_fmt = "bgr0"
        for picture in (*[np.zeros_like(face)] * 2, *[face] * 2):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "bgr24")))
        container.mux(stream.encode())
    return path


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """A copy of the source, which may be changed."""
    return Path(shutil.copy(SOURCE, tmp_path / "photo.jpg"))


def test_a_source_is_analysed_once_and_the_result_is_the_same(
    run: Run, made: list[str], photo: Path, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        run(tmp_path / f"{name}.mp4", source_paths=(photo,), trim_frame_end=2)
    assert made == ["look", "prepare"]
    assert (tmp_path / "one.mp4").read_bytes() == (tmp_path / "two.mp4").read_bytes()


def test_the_reference_is_looked_for_once_in_a_target(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, photo: Path
) -> None:
    looks: list[object] = []

    def finding(*words: object, **about: object) -> object:
        looks.append(about)
        return find_reference(*words, **about)  # type: ignore[arg-type]

    monkeypatch.setattr(selection, "find_reference", finding)
    target = tmp_path / "target.png"
    picture = cv2.imread(str(SOURCE))
    assert picture is not None
    cv2.imwrite(str(target), picture)
    for weight in (0.5, 0.2):
        run(tmp_path / "out.png", source_paths=(photo,), target_path=target, face_swapper_weight=weight)
    assert len(looks) == 1
    run(tmp_path / "out.png", source_paths=(photo,), target_path=target, reference_face_position=1)
    assert len(looks) == 2
    cv2.imwrite(str(target), picture[:, ::-1])
    run(tmp_path / "out.png", source_paths=(photo,), target_path=target)
    assert len(looks) == 3


def test_what_the_search_for_the_reference_had_to_say_is_said_again(
    run: Run, tmp_path: Path, photo: Path, demo_after_black: Path
) -> None:
    said = [
        [notice for notice in report.notices if "reference face" in notice]
        for report in (
            run(tmp_path / f"{name}.mp4", source_paths=(photo,), target_path=demo_after_black, trim_frame_end=4)
            for name in ("one", "two")
        )
    ]
    assert said[0] == said[1] == ["Frame 0 shows no face; the reference face is taken from frame 2."]


def test_a_photo_that_changed_is_looked_at_again(run: Run, made: list[str], photo: Path, tmp_path: Path) -> None:
    run(tmp_path / "one.mp4", source_paths=(photo,), trim_frame_end=1)
    picture = cv2.imread(str(photo))
    assert picture is not None
    cv2.imwrite(str(photo), picture[:, ::-1])
    run(tmp_path / "two.mp4", source_paths=(photo,), trim_frame_end=1)
    assert made == ["look", "prepare"] * 2
    assert (tmp_path / "one.mp4").read_bytes() != (tmp_path / "two.mp4").read_bytes()


def test_other_settings_of_the_analysis_look_again(run: Run, made: list[str], photo: Path, tmp_path: Path) -> None:
    run(tmp_path / "one.mp4", source_paths=(photo,), trim_frame_end=1)
    run(tmp_path / "two.mp4", source_paths=(photo,), trim_frame_end=1, face_detector_score=0.6)
    assert made == ["look", "prepare"] * 2
    run(tmp_path / "three.mp4", source_paths=(photo,), trim_frame_end=1, face_swapper_weight=0.2)
    assert made == ["look", "prepare"] * 2


def test_a_photo_without_a_face_is_refused_every_time(run: Run, made: list[str], photo: Path, tmp_path: Path) -> None:
    cv2.imwrite(str(photo), np.zeros((512, 512, 3), np.uint8))
    for _ in range(2):
        with pytest.raises(FaceNotFoundError):
            run(tmp_path / "one.mp4", source_paths=(photo,), trim_frame_end=1)
    assert made == ["look", "look"]


def test_releasing_models_forgets_people_too(
    run: Run, engine: Engine, made: list[str], photo: Path, tmp_path: Path, model_path: Callable[[str], Path]
) -> None:
    run(tmp_path / "one.mp4", source_paths=(photo,), trim_frame_end=1)
    engine.release_models()
    run(tmp_path / "two.mp4", source_paths=(photo,), trim_frame_end=1)
    assert made == ["look", "prepare"] * 2
