"""Which sessions are made: none twice, as long as nothing asks for another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from facefusion.cli.main import main
from tests.app.conftest import SOURCE, put
from tests.media.clips import decode
from tests.processors.face_swapper.toy_shop import BIAS, WEIGHTS
from tests.scripts.conftest import FACES, make_face_clip
from tests.soak.program import WatchedProgram
from tests.toys.swappers import colour_swapper, recogniser

TOY, RECOGNISER = "hyperswap_1a_256", "arcface_w600k_r50"
NEEDED = Counter(("yunet", "face_mesh", RECOGNISER, "open_nsfw"))
"""What a run with the embedded swapper, which is no network, loads."""


@pytest.fixture
def program() -> Iterator[WatchedProgram]:
    program = WatchedProgram()
    yield program
    program.release_models()


@pytest.fixture
def go(
    program: WatchedProgram, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Counter[str]]:
    """Runs a command on a picture or a clip; the sessions that it made, by model."""
    monkeypatch.chdir(tmp_path)
    put(models, TOY, colour_swapper((512,), 256, gain=(0, 0, 0), mask=True))
    put(models, RECOGNISER, recogniser(WEIGHTS, BIAS))
    frames = decode(FACES)[:2]
    frames[0].to_image().save("a.png")
    make_face_clip(Path("a.mp4"), frames)
    Path("facefusion.ini").write_text("[paths]\nmodels_path = models\n[logging]\nlog_level = error\n")

    def call(*words: str) -> Counter[str]:
        before = program.loaded.copy()
        assert main(words, program) == 0
        return program.loaded - before

    return call


def step(target: str, *words: str) -> tuple[str, ...]:
    return ("-s", str(SOURCE), "-t", target, "-o", f"out-{target}", "--face-swapper-model", "mesh", *words)


def test_a_second_run_makes_none(go: Callable[..., Counter[str]]) -> None:
    assert go("run", *step("a.png")) == NEEDED
    assert go("run", *step("a.png")) == Counter()


def test_nor_does_one_with_other_workers(go: Callable[..., Counter[str]]) -> None:
    assert go("run", *step("a.mp4")) == NEEDED
    for count in ("1", "2", "3"):
        assert go("run", *step("a.mp4", "--execution-thread-count", count)) == Counter()
    assert go("run", *step("a.mp4", "--execution-queue-count", "2")) == Counter()


def test_a_model_that_is_switched_to_comes_alone_and_going_back_makes_none(
    go: Callable[..., Counter[str]], program: WatchedProgram
) -> None:
    toy = ("--face-swapper-model", TOY)
    assert go("run", *step("a.png", *toy)) == NEEDED + Counter((TOY,))
    assert go("run", *step("a.png")) == Counter()
    assert go("run", *step("a.png", *toy)) == Counter()
    program.release_models()
    assert go("run", *step("a.png")) == NEEDED
    assert go("run", *step("a.png", *toy)) == Counter((TOY,))


def test_jobs_of_a_queue_share_them(go: Callable[..., Counter[str]]) -> None:
    for job_id in ("one", "two"):
        go("job-create", job_id)
        for words in (step("a.png"), step("a.mp4", "--processors", "face_debugger")):
            go("job-add-step", job_id, *words)
    go("job-submit-all")
    made = go("job-run-all")
    assert set(made) == set(NEEDED)
    assert set(made.values()) <= {1, 2}
    go("job-create", "three")
    go("job-add-step", "three", *step("a.png"))
    go("job-submit", "three")
    assert go("job-run-all") == Counter()
