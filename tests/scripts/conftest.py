"""A folder as a user has it, with the program in it, and scripts run there as they stand in the README."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import cv2
import pytest
from av.video.frame import VideoFrame
from PIL import Image

from tests.media.clips import decode, make_clip, planes_of

REPOSITORY = Path(__file__).parents[2]
FACES = REPOSITORY / "assets/benchmark/target-240p.mp4"
FRAMES = 3
STILLS = ("a.png", "it's b.jpg", "Grüße [1].tiff", "100%.WEBP")
CLIPS = ("-dash {index}.mp4", "two words.MKV")
ANIMATION = "moving.gif"


def readme_script(word: str) -> str:
    """The one shell script of the README's section on many files that holds a word."""
    text = (REPOSITORY / "README.md").read_text("utf-8")
    section = text.split("\n## Many files\n", 1)[1].split("\n## ", 1)[0]
    (script,) = (block for block in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) if word in block)
    return script


def make_targets(folder: Path) -> None:
    """Images and clips with a face, of several formats, under names as users give them."""
    folder.mkdir()
    faces = decode(FACES)
    for number, name in enumerate((*STILLS, *CLIPS, ANIMATION)):
        frames = faces[number : number + FRAMES]
        picture, *others = [frame.to_ndarray(format="bgr24") for frame in frames]
        if name in CLIPS:
            make_face_clip(folder / name, frames, audio=("aac",) if name == CLIPS[0] else ())
        elif name == ANIMATION:
            first, *rest = [Image.fromarray(one[:, :, ::-1]) for one in (picture, *others)]
            first.save(folder / name, save_all=True, append_images=rest, duration=40)
        else:
            _, data = cv2.imencode(Path(name).suffix, picture)
            (folder / name).write_bytes(data.tobytes())


def make_face_clip(path: Path, frames: Sequence[VideoFrame], audio: Sequence[str] = ()) -> None:
    """Write frames of :data:`FACES` as a clip."""
    make_clip(
        path,
        width=frames[0].width,
        height=frames[0].height,
        options={"crf": "18", "preset": "ultrafast"},
        stamps=range(0, len(frames) * 512, 512),
        pictures=[planes_of(frame) for frame in frames],
        audio=audio,
    )


class Ended(NamedTuple):
    """How a script ended."""

    code: int
    output: list[str]
    """Lines of the output stream."""
    errors: list[str]
    """Lines of the error stream."""


@dataclass(frozen=True)
class Running:
    """A script that was begun."""

    process: subprocess.Popen[bytes]
    output: Path
    errors: Path

    def end(self) -> Ended:
        """Wait for its end."""
        code = self.process.wait(300)
        return Ended(code, self.output.read_text().splitlines(), self.errors.read_text().splitlines())

    def stop_at(self, line: str) -> Ended:
        """Press Ctrl-C when a line is said, and wait for the end."""
        while line not in self.errors.read_text().splitlines():
            assert self.process.poll() is None, self.errors.read_text()
            time.sleep(0.01)
        os.killpg(self.process.pid, signal.SIGINT)
        return self.end()


class Place:
    """A folder with the program and a source's face in it, where scripts are run."""

    def __init__(self, folder: Path, models: Path) -> None:
        self.folder = folder
        python = folder / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        python.chmod(0o755)
        (folder / "facefusion.py").symlink_to(REPOSITORY / "facefusion.py")
        source = cv2.imread(str(REPOSITORY / "assets/demo/source.jpg"), cv2.IMREAD_REDUCED_COLOR_2)
        assert source is not None
        assert cv2.imwrite(str(folder / "face.jpg"), source)
        (folder / "facefusion.ini").write_text(f"[paths]\nmodels_path = {models}\n")

    def start(self, script: str) -> Running:
        """Begin a shell script, in a group of its own, so that a signal reaches all of it as Ctrl-C does."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FACEFUSION_")}
        environment["FACEFUSION_MARKING"] = "off"  # what is signed is never the same bytes twice
        streams = (self.folder / "output.txt", self.folder / "errors.txt")
        with streams[0].open("w") as output, streams[1].open("w") as errors:
            process = subprocess.Popen(
                ["bash", "-c", script],
                cwd=self.folder,
                env=environment,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        return Running(process, *streams)

    @property
    def results(self) -> dict[str, bytes]:
        """Content of each result by its name without extension, which a template writes in lower case."""
        return {path.stem: path.read_bytes() for path in (self.folder / "results").iterdir()}


@pytest.fixture
def make_place(tmp_path: Path, model_path: Callable[[str], Path]) -> Callable[[str], Place]:
    """Makes folders by name."""

    def make(name: str) -> Place:
        return Place(tmp_path / name, model_path("yunet").parent)

    return make
