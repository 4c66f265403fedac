from __future__ import annotations

from pathlib import Path

from facefusion.config.settings import PathsSettings
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Level
from facefusion.doctor.request import findings, target_lines
from tests.doctor.machines import settings

ASSETS = Path(__file__).parents[2] / "assets" / "benchmark"
CLIP = ASSETS / "target-240p.mp4"
PHOTO = ASSETS / "source.jpg"


def told(**paths):
    return [(one.level, one.text) for one in findings(Examination(settings(**paths)))]


def test_without_a_target_there_is_nothing_to_say():
    assert told() == []


def test_a_target_is_told_with_what_it_holds():
    ((level, text),) = told(target_path=CLIP)
    assert level is Level.OK
    assert text.startswith(f"target {CLIP}: video of 426x240, ")
    ((level, text),) = told(target_path=PHOTO)
    assert text.startswith(f"target {PHOTO}: image of ")


def test_what_a_run_would_refuse_is_a_fault(tmp_path):
    damaged = tmp_path / "damaged.mp4"
    damaged.write_bytes(b"no video")
    ((level, text),) = told(target_path=damaged)
    assert (level, str(damaged) in text) == (Level.FAULT, True)
    ((level, text),) = told(target_path=tmp_path / "none.mp4", output_path=tmp_path / "result.mp4")
    assert (level, text) == (Level.FAULT, f"target {tmp_path / 'none.mp4'}: there is no such file")
    missing = {"source_paths": (tmp_path / "none.jpg",), "target_path": CLIP, "output_path": tmp_path / "result.mp4"}
    assert told(**missing) == [(Level.FAULT, f"source {tmp_path / 'none.jpg'}: there is no such file")]


def test_the_lines_of_a_target_are_those_of_a_video_that_can_be_read(tmp_path):
    def lines(path):
        return target_lines(settings(target_path=path).get(PathsSettings))

    assert lines(CLIP) == 240
    assert lines(PHOTO) is None
    assert lines(tmp_path / "none.mp4") is None
    assert target_lines(settings().get(PathsSettings)) is None
