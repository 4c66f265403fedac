"""Limits of memory, held against what the process really takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.frame import VideoFrame

from tests.app.watched import REPOSITORY, Ended, run_watched
from tests.media.clips import decode, make_clip, planes_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the figures are those of Linux and glibc")

BENCHMARK = REPOSITORY / "assets" / "benchmark"
GIB = 1 << 30
FIGURE = re.compile(r"--system-memory-limit ([\d.]+),")

Swap = Callable[..., Ended]


@pytest.fixture
def swap(tmp_path: Path, model_path: Callable[[str], Path]) -> Swap:
    """Run the program with the embedded models, and see that nothing lies under the result's name where it failed."""
    models = model_path("yunet").parent

    def run(target: Path, *words: str, program: Sequence[str] = ("facefusion.py",)) -> Ended:
        output = tmp_path / f"out{target.suffix}"
        output.unlink(missing_ok=True)
        command = (
            *("headless-run", "-s", str(BENCHMARK / "source.jpg"), "-t", str(target), "-o", str(output)),
            *("--models-path", str(models), "--log-level", "warn", "--no-resume", *words),
        )
        ended = run_watched(command, tmp_path, program)
        assert output.exists() == (ended.status == 0), ended.said
        return ended

    return run


def smallest(refused: Ended) -> str:
    """The limit that a refusal names."""
    assert refused.status == 1, refused.said
    named = FIGURE.search(refused.said)
    assert named is not None, refused.said
    return named[1]


def check_smallest(swap: Swap, target: Path, *words: str, below: float) -> float:
    """See that a limit that is too small is refused, and that the one named is enough and is kept; that limit."""
    limit = smallest(swap(target, *words, "--system-memory-limit", "0.1"))
    ended = swap(target, *words, "--system-memory-limit", limit)
    assert ended.status == 0, ended.said
    assert ended.peak <= float(limit) * GIB
    assert float(limit) * GIB <= below * ended.peak, f"{ended.peak / GIB:.2f} GB would do"
    return float(limit)


def tiled(path: Path, columns: int, rows: int, frames: int) -> None:
    """A clip with as many faces."""
    pictures = [planes_of(frame) for frame in decode(BENCHMARK / "target-240p.mp4")[:frames]]
    wide = [[np.tile(plane[: len(plane) // 2 * 2], (rows, columns)) for plane in picture] for picture in pictures]
    make_clip(path, width=426 * columns, height=240 * rows, pictures=wide)


def scaled(path: Path, source: Path, width: int, height: int, frames: int) -> None:
    """A clip of another size, back and forth through a few frames of a source."""
    taken: list[VideoFrame] = []
    with av.open(str(source)) as container:
        for frame in container.decode(video=0):
            taken.append(frame.reformat(width, height, "yuv420p"))
            if len(taken) == 4:
                break
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=25, options={"preset": "ultrafast", "crf": "30"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(frames):
            frame = taken[(0, 1, 2, 3, 2, 1)[number % 6]]
            frame.pts, frame.time_base = number, Fraction(1, 25)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))


def test_the_smallest_limit_that_is_named_is_enough_and_is_kept(swap: Swap) -> None:
    assert check_smallest(swap, BENCHMARK / "target-360p.mp4", "--trim-frame-end", "40", below=1.5) < 0.6


def test_what_is_named_before_anything_is_loaded_is_enough_for_an_animation(swap: Swap, tmp_path: Path) -> None:
    animation = tmp_path / "target.gif"
    with av.open(str(animation), "w") as output:
        stream = output.add_stream("gif", rate=10)
        stream.width, stream.height, stream.pix_fmt = 426, 240, "rgb8"
        for number, frame in enumerate(decode(BENCHMARK / "target-240p.mp4")[:4]):
            reduced = frame.reformat(format="rgb8")
            reduced.pts, reduced.time_base = number, Fraction(1, 10)
            output.mux(stream.encode(reduced))
        output.mux(stream.encode(None))
    check_smallest(swap, animation, below=1.7)


def test_a_preset_that_fits_is_named_and_fits(swap: Swap) -> None:
    words = ("--trim-frame-end", "12", "--output-video-preset", "veryslow", "--system-memory-limit", "0.6")
    target = BENCHMARK / "target-720p.mp4"
    refused = swap(target, *words)
    named = re.search(r"choose (--output-video-preset) (\w+) \(about ([\d.]+) GB\)", refused.said)
    assert named is not None, refused.said
    assert float(named[3]) <= 0.6
    assert swap(target, *words, named[1], named[2]).status == 0


def test_many_faces_stay_within_the_limit(swap: Swap, tmp_path: Path) -> None:
    crowd = tmp_path / "crowd.mp4"
    tiled(crowd, columns=4, rows=3, frames=8)
    words = ("--face-selector-mode", "many")
    check_smallest(swap, crowd, *words, below=1.5)


@pytest.mark.parametrize("part", ["slow encoder", "slow processor"])
def test_a_part_that_is_slower_than_all_others_lets_nothing_pile_up(swap: Swap, part: str) -> None:
    words = ("--trim-frame-end", "30", "--system-memory-limit", "0.6")
    ended = swap(BENCHMARK / "target-360p.mp4", *words, program=("-m", "tests.app.spoiled", part))
    assert ended.status == 0, ended.said
    assert ended.peak <= 0.6 * GIB


def test_a_run_that_grows_is_stopped_soon_after_it_passes_its_limit(swap: Swap) -> None:
    words = ("--system-memory-limit", "0.6")
    ended = swap(BENCHMARK / "target-240p.mp4", *words, program=("-m", "tests.app.spoiled", "leak"))
    assert ended.status == 1
    assert re.search(r"^error: the run takes 0\.[67] GB of memory, above its limit of 0\.6 GB\. Raise --s", ended.said)
    assert ended.peak <= 0.8 * GIB


def test_a_run_that_bolts_is_refused_the_memory_by_the_system(swap: Swap) -> None:
    words = ("--system-memory-limit", "0.6")
    ended = swap(BENCHMARK / "target-240p.mp4", *words, program=("-m", "tests.app.spoiled", "bolt"))
    assert ended.status == 1
    assert re.search(r"^error: there is no memory left for this step\. Raise --system-memory-limit", ended.said)
    assert ended.peak <= 0.6 * GIB


def test_a_larger_limit_is_kept_as_well(swap: Swap) -> None:
    ended = swap(BENCHMARK / "target-720p.mp4", "--trim-frame-end", "30", "--system-memory-limit", "1")
    assert (ended.status, ended.peak <= GIB) == (0, True), ended.said


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("--output-video-encoder", "libx265"),
        ("--output-video-encoder", "libsvtav1", "--output-video-preset", "ultrafast"),
        ("--output-video-encoder", "libvpx-vp9"),
        ("--output-video-preset", "medium"),
    ],
    ids=["x265", "AV1", "VP9", "medium"],
)
def test_the_smallest_limit_of_each_encoder(swap: Swap, words: tuple[str, ...]) -> None:
    check_smallest(swap, BENCHMARK / "target-1080p.mp4", *words, below=1.35)


@pytest.mark.slow
def test_large_frames_stay_within_the_smallest_limit(swap: Swap) -> None:
    assert check_smallest(swap, BENCHMARK / "target-2160p.mp4", below=1.35) <= 1.2


def test_large_frames_are_refused_before_one_is_decoded(swap: Swap, tmp_path: Path) -> None:
    clip = tmp_path / "8k.mp4"
    scaled(clip, BENCHMARK / "target-240p.mp4", 7680, 4320, frames=1)
    refused = swap(clip, "--system-memory-limit", "0.5")
    assert 3 < float(smallest(refused)) <= 3.5
    assert refused.peak <= 0.3 * GIB


@pytest.mark.slow
def test_an_8k_clip_runs_within_3_5_gb(swap: Swap, tmp_path: Path) -> None:
    clip = tmp_path / "8k.mp4"
    scaled(clip, BENCHMARK / "target-2160p.mp4", 7680, 4320, frames=24)
    assert check_smallest(swap, clip, below=1.35) <= 3.5


@pytest.mark.slow
def test_a_long_clip_takes_no_more_than_a_short_one(swap: Swap, tmp_path: Path) -> None:
    short, long = tmp_path / "short.mp4", tmp_path / "long.mp4"
    for path, frames in ((short, 100), (long, 3000)):
        scaled(path, BENCHMARK / "target-240p.mp4", 426, 240, frames)
    words = ("--system-memory-limit", "0.6")
    first, last = swap(short, *words), swap(long, *words)
    assert (first.status, last.status) == (0, 0), last.said
    assert last.peak <= min(first.peak * 1.1, 0.6 * GIB)


@pytest.mark.slow
@pytest.mark.parametrize("above", [0.0, 0.1, 0.2, 0.3, 0.5, 1.0])
def test_a_run_ends_within_each_limit_from_the_smallest_on(swap: Swap, above: float) -> None:
    """One worker with three frames at first, then more of both; none stands still."""
    target = BENCHMARK / "target-1080p.mp4"
    limit = float(smallest(swap(target, "--system-memory-limit", "0.1"))) + above
    ended = swap(target, "--system-memory-limit", f"{limit:.1f}")
    assert (ended.status, ended.peak <= limit * GIB) == (0, True), ended.said
