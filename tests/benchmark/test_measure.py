from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import pytest

import facefusion
from facefusion.benchmark.cases import Case, find_cases
from facefusion.benchmark.machine import describe_machine, processor_name
from facefusion.benchmark.measure import CaseResult, Cycle, measure
from facefusion.benchmark.report import append_records, record, table
from facefusion.benchmark.settings import BenchmarkSettings
from facefusion.core.errors import OutputError, SetupError, UsageError
from facefusion.core.floor import Floor
from facefusion.core.report import RunReport

CASE = Case("240p", Path("source.jpg"), Path("target-240p.mp4"))


FLOOR = Floor({"yunet": 0.25, "arcface": 0.125}, kernels=0.0, transcode=0.125)


def report(decode=1.0, peak=100 * 2**20, seconds=1.0):
    return RunReport(
        output="a.mp4",
        frames=30,
        faces=30,
        frames_without_face=0,
        held_frames=(),
        seconds=seconds,
        start_up_seconds=0.5,
        peak_memory=peak,
        models={"yunet": "cpu"},
        stages={"decode": decode},
    )


class Recorder:
    """Runs nothing; each run takes as long as it is told."""

    def __init__(self, seconds):
        self.seconds = list(seconds)
        self.now = 0.0
        self.log = []

    def run(self, case, output):
        self.log.append("run")
        assert not output.exists() or self.log == ["run"]
        output.write_bytes(b"x")
        self.now += self.seconds.pop(0)
        return report()

    def floor(self, case, done, folder):
        assert case is CASE
        return Floor({"yunet": done.seconds / 4}, kernels=0.25, transcode=0.0)

    def forget(self):
        self.log.append("forget")
        self.now += 50.0


def test_warm_runs_once_untimed(tmp_path):
    recorder = Recorder([9.0, 1.0, 3.0])
    result = measure(CASE, recorder, tmp_path, cycles=2, cold=False, clock=lambda: recorder.now)
    assert result.seconds == (1.0, 3.0)
    assert recorder.log == ["run"] * 3
    assert list(tmp_path.iterdir()) == []


def test_cold_forgets_before_each_cycle_outside_the_time(tmp_path):
    recorder = Recorder([4.0, 2.0])
    result = measure(CASE, recorder, tmp_path, cycles=2, cold=True, clock=lambda: recorder.now)
    assert result.seconds == (4.0, 2.0)
    assert recorder.log == ["forget", "run", "forget", "run"]


def test_figures_of_a_clip():
    reports = report(1.0), report(5.0, 7, 2.0), report(2.0, seconds=3.0)
    result = CaseResult(CASE, tuple(Cycle(1.0, one, FLOOR) for one in reports))
    assert result.rates == (30.0, 15.0, 10.0)
    assert result.frames_per_second == 15.0
    assert [cycle.over_floor for cycle in result.cycles] == [2.0, 4.0, 6.0]
    assert result.over_floor == 4.0
    assert result.peak_memory == 100 * 2**20
    assert result.stages == {"decode": 2.0}
    assert table([result]) == (
        "target           cycles  frames/s  lowest  highest  over floor  start-up s  peak MiB\n"
        "------------------------------------------------------------------------------------\n"
        "target-240p.mp4       3     15.00   10.00    30.00        4.00        0.50       100\n"
        "240p by stage: decode 2.00 s\n"
        "240p floor: 0.50 s (transcode 0.12 s, yunet 0.25 s, arcface 0.12 s)\n"
    )


def test_records_are_lines_of_json_that_add_up(tmp_path):
    result = CaseResult(CASE, (Cycle(1.5, report(), FLOOR),))
    entry = record(
        result, {"cores": 2}, BenchmarkSettings(benchmark_name="before"), datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    )
    path = tmp_path / "record.jsonl"
    append_records(path, (entry,))
    append_records(path, (entry,))
    first, second = path.read_text(encoding="utf-8").splitlines()
    assert first == second
    assert json.loads(first) == {
        "time": "2026-01-02T03:04:05+00:00",
        "resolution": "240p",
        "name": "before",
        "mode": "warm",
        "seconds": [1.5],
        "frames": 30,
        "frames_per_second": [30.0],
        "over_floor": [2.0],
        "start_up_seconds": [0.5],
        "floor": {"networks": {"yunet": 0.25, "arcface": 0.125}, "kernels": 0.0, "transcode": 0.125},
        "stages": {"decode": 1.0},
        "peak_memory_bytes": 100 * 2**20,
        "models": {"yunet": "cpu"},
        "machine": {"cores": 2},
    }


def test_nothing_is_added_to_a_file_of_something_else(tmp_path):
    path = tmp_path / "photo.jpg"
    path.write_bytes(b"photo")
    with pytest.raises(UsageError, match=r"photo\.jpg is there already and is not a record of benchmarks"):
        append_records(path, ())
    assert path.read_bytes() == b"photo"


def test_a_record_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(OutputError) as caught:
        append_records(tmp_path / "no" / "record.jsonl", ())
    assert str(caught.value) == (
        f"cannot write the benchmark's record {tmp_path / 'no' / 'record.jsonl'}: No such file or directory. "
        "Choose another --benchmark-record-path."
    )


def test_clips_are_found_once_each_in_the_order_asked_for(tmp_path):
    for name in ("source.jpg", "target-240p.mp4", "target-720p.mp4"):
        (tmp_path / name).touch()
    cases = find_cases(("720p", "240p", "720p"), tmp_path)
    assert [case.target.name for case in cases] == ["target-720p.mp4", "target-240p.mp4"]
    assert {case.source for case in cases} == {tmp_path / "source.jpg"}


def test_a_missing_clip_names_the_script_that_makes_it(tmp_path):
    (tmp_path / "source.jpg").touch()
    with pytest.raises(SetupError) as caught:
        find_cases(("2160p",), tmp_path)
    assert str(caught.value) == (
        f"the benchmark's file {tmp_path / 'target-2160p.mp4'} is not there. "
        "Make it with: python scripts/make_assets.py --only benchmark"
    )


def test_the_processor_is_named_as_the_system_names_it(tmp_path):
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel name\t: Example CPU: 9000\n", encoding="utf-8")
    assert processor_name(info) == "Example CPU: 9000"


def test_the_machine_is_described_with_what_does_the_work():
    described = describe_machine()
    packages = described["packages"]
    assert described["facefusion"] == facefusion.__version__
    assert isinstance(packages, dict)
    assert packages["numpy"] == metadata.version("numpy")
    assert ("onnxruntime" in packages) != ("onnxruntime-gpu" in packages)
