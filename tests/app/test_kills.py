"""The whole program, killed at many moments of a run and started again."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from facefusion.catalogue.store import ModelStore
from tests.media.clips import decode, make_clip, planes_of, times_of

REPOSITORY = Path(__file__).parents[2]
SECONDS = 20
KILLS = 24


def make_long_clip(path: Path) -> int:
    """A face for ``SECONDS``, with sound; the number of frames."""
    pictures = [planes_of(frame) for frame in decode(REPOSITORY / "assets/benchmark/target-240p.mp4")]
    count = SECONDS * 25
    make_clip(
        path,
        width=426,
        height=240,
        options={"crf": "18"},
        stamps=range(0, count * 512, 512),
        pictures=[pictures[number % len(pictures)] for number in range(count)],
        audio=("aac",),
    )
    return count


@pytest.mark.slow
def test_a_run_killed_at_any_moment_goes_on_to_the_same_result(tmp_path: Path, embedded_models: ModelStore) -> None:
    target, output, temp = tmp_path / "in.mp4", tmp_path / "out.mp4", tmp_path / "temp"
    temp.mkdir()
    count = make_long_clip(target)
    command = (
        *(sys.executable, "facefusion.py", "run", "-s", "assets/demo/source.jpg", "-t", str(target)),
        *("-o", str(output), "--temp-path", str(temp), "--log-level", "warn"),
    )
    begun = time.monotonic()
    subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - begun
    digest = hashlib.sha256(output.read_bytes()).hexdigest()
    assert len(times_of(output)) == count
    chance = random.Random(3)
    for _ in range(KILLS):
        output.unlink(missing_ok=True)
        with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL) as process:
            time.sleep(seconds * chance.uniform(0.05, 1.0))
            process.kill()
        assert not output.exists() or hashlib.sha256(output.read_bytes()).hexdigest() == digest
        subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)
        assert hashlib.sha256(output.read_bytes()).hexdigest() == digest
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mp4", "out.mp4", "temp"]
        assert [path for path in temp.rglob("*") if path.is_file() and path.name != ".lock"] == []
