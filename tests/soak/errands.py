"""Short jobs of every kind, and how each of them ends."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from facefusion.cli.main import main
from tests.soak.program import WatchedProgram

PICTURE = ("-s", "face.jpg", "-t", "one.png", "-o", "out/one.png")
CLIP = ("-s", "face.jpg", "-t", "clip.mp4", "-o", "out/clip.mp4")
MESH = ("--face-swapper-model", "mesh")
TOY = ("--face-swapper-model", "hyperswap_1a_256")
DONE, FAILED, USAGE, STOPPED = 0, 1, 2, 4


@dataclass(frozen=True)
class Errand:
    """Command lines that belong together.

    Args:
        name: for the log.
        lines: command lines, each with its exit code.
        stop_after: frames after which the first of them is stopped.
    """

    name: str
    lines: tuple[tuple[int, tuple[str, ...]], ...]
    stop_after: int | None = None

    def run(self, program: WatchedProgram) -> None:
        """Run it in the working folder."""
        program.stop_after = self.stop_after
        for code, words in self.lines:
            ended = main(words, program)
            assert ended == code, f"{self.name}: {words} ended with {ended}, not with {code}"
            program.stop_after = None


def errand(name: str, code: int, *words: str, stop_after: int | None = None) -> Errand:
    return Errand(name, ((code, words),), stop_after)


def _job() -> Errand:
    step = ("job-add-step", "several")
    return Errand(
        "a job of two steps",
        (
            (DONE, ("job-create", "several")),
            (DONE, (*step, *PICTURE, *MESH)),
            (DONE, (*step, *CLIP, "--processors", "face_debugger")),
            (DONE, ("job-submit-all",)),
            (DONE, ("job-run-all",)),
            (DONE, ("job-delete", "several")),
        ),
    )


def _failing_job() -> Errand:
    lines = (
        (DONE, ("job-create", "failing")),
        (DONE, ("job-add-step", "failing", "-s", "face.jpg", "-t", "none.png", "-o", "out/none.png", *MESH)),
        (DONE, ("job-submit", "failing")),
        (FAILED, ("job-run", "failing")),
        (FAILED, ("job-retry", "failing")),
        (DONE, ("job-delete", "failing")),
    )
    return Errand("a job that fails", lines)


def _resumed(frames: int) -> Errand:
    # One worker, so that the frames come one by one.
    words = ("run", *CLIP, *MESH, "--execution-thread-count", "1")
    return Errand(f"a clip, stopped after {frames} frames and gone on with", ((STOPPED, words), (DONE, words)), frames)


CHEAP = (
    errand("a picture", DONE, "run", *PICTURE, *MESH),
    errand("a picture with nobody", DONE, "run", "-s", "face.jpg", "-t", "nobody.png", "-o", "out/nobody.png", *MESH),
    errand("a picture as a job", DONE, "headless-run", *PICTURE, *MESH),
    errand("marks on a picture", DONE, "run", *PICTURE, "--processors", "face_debugger"),
    errand("a picture with a network", DONE, "run", *PICTURE, *TOY),
    errand(
        "masks of every kind", DONE, "run", *PICTURE, *MESH, "--face-mask-types", "box", "occlusion", "area", "region"
    ),
    errand("all faces", DONE, "run", *PICTURE, *MESH, "--face-selector-mode", "many"),
    errand("a report", DONE, "run", *PICTURE, *MESH, "--report", "out/report.json"),
    errand("a picture stopped at once", STOPPED, "run", *PICTURE, *MESH, stop_after=0),
    errand("a target that is not there", FAILED, "run", "-s", "face.jpg", "-t", "none.png", "-o", "out/none.png"),
    errand("a source that is not there", FAILED, "run", "-s", "none.jpg", "-t", "one.png", "-o", "out/none.png"),
    errand("a torn clip", FAILED, "run", "-s", "face.jpg", "-t", "torn.mp4", "-o", "out/torn.mp4", *MESH),
    errand("a model that does not fit", USAGE, "run", *PICTURE, "--face-swapper-model", "inswapper_128_fp16"),
    errand("a model that nobody knows", USAGE, "run", *PICTURE, "--face-swapper-model", "none"),
    errand("a clip as a picture", USAGE, "run", "-s", "face.jpg", "-t", "clip.mp4", "-o", "out/clip.jpg", *MESH),
    errand("an enhancer", DONE, "run", "-t", "tiny.png", "-o", "out/tiny.png", "--processors", "frame_enhancer"),
    errand("settings", DONE, "config"),
    errand("no jobs", FAILED, "job-list", "queued"),
    _failing_job(),
)
"""Errands without a video."""

CLIPS = (
    errand("a clip", DONE, "run", *CLIP, *MESH),
    errand("a clip with sound", DONE, "run", "-s", "face.jpg", "-t", "heard.mp4", "-o", "out/heard.mp4", *MESH),
    errand("a clip with one worker", DONE, "run", *CLIP, *MESH, "--execution-thread-count", "1"),
    errand("a clip with three workers", DONE, "run", *CLIP, *MESH, "--execution-thread-count", "3"),
    errand("two processors", DONE, "run", *CLIP, *MESH, "--processors", "face_swapper", "face_debugger"),
    errand("a clip by way of files", DONE, "run", *CLIP, *MESH, "--workflow-strategy", "disk"),
    errand("a clip within a limit", DONE, "run", *CLIP, *MESH, "--system-memory-limit", "3"),
    errand("a clip with a network", DONE, "run", *CLIP, *TOY),
    errand("a moving picture", DONE, "run", "-s", "face.jpg", "-t", "moving.gif", "-o", "out/moving.gif", *MESH),
    _resumed(1),
    _job(),
    _resumed(3),
    errand("several", DONE, "batch-run", "-s", "face.jpg", "-t", "[on]*.png", "-o", "out/{target_name}.png", *MESH),
)

DEAR = (
    errand("sessions that go at once", DONE, "run", *PICTURE, *MESH, "--video-memory-strategy", "conservative"),
    errand("sessions that come at once", DONE, "run", *PICTURE, *TOY, "--video-memory-strategy", "aggressive"),
)
"""Those that make sessions anew, here or in the next errand."""

DEAR_EVERY = 4
"""Rounds of which one begins with them."""


def rounds(seed: int, *, every: int) -> Iterator[list[Errand]]:
    """Rounds of errands, in an order by chance, that leave the program in the same state each time.

    Args:
        seed: of the order.
        every: 1 for all errands, 3 for every third.
    """
    chance = random.Random(seed)
    number = 0
    while True:
        errands = [*CHEAP, *CLIPS][::every]
        chance.shuffle(errands)
        begin = list(DEAR) if number % DEAR_EVERY == 0 else []
        yield [*begin, *errands, CHEAP[0], CLIPS[0]]
        number += 1


def do(errands: list[Errand], program: WatchedProgram, done: Callable[[Errand], None]) -> None:
    """Run errands in the working folder, which is given an empty ``out`` for each."""
    for one in errands:
        Path("out").mkdir(exist_ok=True)
        one.run(program)
        for path in Path("out").iterdir():
            path.unlink()
        done(one)
