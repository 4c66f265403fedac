"""The scripts of the README, run as they stand there: the same work done three ways, and stopped in the middle."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import cv2
import pytest

from tests.media.clips import decode
from tests.scripts.conftest import CLIPS, FACES, FRAMES, Place, make_face_clip, make_targets, readme_script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs bash")

MakePlace = Callable[[str], Place]


def test_a_batch_a_loop_and_a_job_make_the_same_files(tmp_path: Path, make_place: MakePlace) -> None:
    clips = tmp_path / "clips"
    make_targets(clips)
    targets = {path.stem: path for path in clips.iterdir()}
    assert len(targets) == 7
    started = {}
    for word in ("batch-run", "continue", "job-create"):
        place = make_place(word)
        (place.folder / "clips").symlink_to(clips, target_is_directory=True)
        started[word] = (place, place.start(readme_script(word)))
    ended = {word: (place, *running.end()) for word, (place, running) in started.items()}
    for word, (place, code, output, errors) in ended.items():
        assert code == 0, (word, errors)
        assert sorted(output) == sorted(f"results/{path.name}" for path in (place.folder / "results").iterdir())
    batch, loop, job = (place.results for place, *_ in ended.values())
    assert batch.keys() == targets.keys()
    assert batch == loop
    assert batch == job
    results = {path.stem: path for path in (ended["batch-run"][0].folder / "results").iterdir()}
    before, after = (cv2.imread(str(folder["a"])) for folder in (targets, results))
    assert before is not None
    assert after is not None
    assert 0.005 < (before != after).any(axis=2).mean() < 0.2
    for stem in (Path(name).stem for name in CLIPS):
        assert [len(decode(folder[stem])) for folder in (targets, results)] == [FRAMES, FRAMES]
        assert results[stem].read_bytes() != targets[stem].read_bytes()


def make_short_and_long(folder: Path) -> None:
    """A picture, and a clip that takes a second or two."""
    (folder / "clips").mkdir()
    frames = decode(FACES)
    cv2.imwrite(str(folder / "clips" / "a.png"), frames[0].to_ndarray(format="bgr24"))
    make_face_clip(folder / "clips" / "long.mp4", [frames[index % len(frames)] for index in range(40)])


@pytest.mark.slow
def test_a_loop_stops_at_ctrl_c_and_goes_on_when_started_again(make_place: MakePlace) -> None:
    place = make_place("place")
    make_short_and_long(place.folder)
    script = readme_script("continue")
    code, output, errors = place.start(script).stop_at("target      clips/long.mp4")
    assert (code, output) == (4, ["results/a.png"])
    assert errors[-1].startswith("Stopped by ")
    assert set(place.results) == {"a"}
    assert place.start(script).end()[:2] == (0, ["results/long.mp4"])
    assert set(place.results) == {"a", "long"}


def test_a_batch_stops_at_ctrl_c_and_goes_on_as_the_last_lines_say(make_place: MakePlace) -> None:
    place = make_place("place")
    make_short_and_long(place.folder)
    code, output, errors = place.start(readme_script("batch-run")).stop_at("target      clips/long.mp4")
    assert (code, output) == (4, ["results/a.png"])
    assert set(place.results) == {"a"}
    said = re.fullmatch(
        r"Stopped by .*; the job (batch-\S+) stays queued, and job-run \1 goes on with it\.", errors[-1]
    )
    assert said is not None
    again = place.start(f".venv/bin/python facefusion.py job-run {said[1]}")
    assert again.end()[:2] == (0, ["results/long.mp4"])
    assert set(place.results) == {"a", "long"}
