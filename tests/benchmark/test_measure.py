from __future__ import annotations

import dataclasses
import json
import re
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import pytest

import facefusion
from facefusion.benchmark.cases import Case, find_cases, played
from facefusion.benchmark.machine import describe_machine, processor_name
from facefusion.benchmark.measure import CaseResult, Cycle, measure
from facefusion.benchmark.report import about_machine, append_records, record, table
from facefusion.benchmark.settings import BenchmarkSettings
from facefusion.core.errors import OutputError, SetupError, UsageError
from facefusion.core.floor import Floor
from facefusion.core.report import RunReport, ThreadPlan
from facefusion.core.stop import StopToken
from tests.media.clips import decode, make_clip

CASE = Case("240p", Path("source.jpg"), Path("target-240p.mp4"))


FLOOR = Floor({"yunet": 0.25, "arcface": 0.125}, kernels=0.0, transcode=0.125)


THREADS = ThreadPlan(2, 6, 1, 1, {"yunet": 1}, {"cpu:0": None, "cuda:1": 4})


def report(decode=1.0, peak=100 * 2**20, seconds=1.0, video_memory=None, start_up=0.5, waits=0.25):
    return RunReport(
        output="a.mp4",
        frames=30,
        faces=30,
        frames_without_face=0,
        held_frames=(),
        seconds=seconds,
        start_up_seconds=start_up,
        peak_memory=peak,
        models={"yunet": "cpu"},
        stages={"decode": decode, "wait for room": waits},
        threads=THREADS,
        peak_video_memory=video_memory,
    )


def result_of(*reports, **values):
    cycles = tuple(Cycle(1.0, one, FLOOR) for one in reports)
    return CaseResult(CASE, cycles, **{"cold_start": 1.5, "warm_start": 0.5, "command_start": 2.25, **values})


class Recorder:
    """Runs nothing; each run takes as long as it is told."""

    def __init__(self, seconds):
        self.seconds = list(seconds)
        self.now = 0.0
        self.log = []

    def run(self, case, output):
        assert not output.exists() or self.log[-1] != "run"
        self.log.append("run" if case is CASE else f"run {case.target.name}")
        output.write_bytes(b"x")
        seconds = self.seconds.pop(0)
        self.now += seconds
        return report(start_up=seconds / 2)

    def floor(self, case, done, folder):
        return Floor({"yunet": done.seconds / 4}, kernels=0.25, transcode=0.0)

    def forget(self):
        self.log.append("forget")
        self.now += 50.0

    def command_start(self, case, folder):
        assert case is CASE
        return 2.5

    def played(self, case, times, folder):
        return Case(case.resolution, case.source, folder / f"{times}-times.mp4")


def test_warm_runs_once_untimed_to_see_what_a_cold_start_takes(tmp_path):
    recorder = Recorder([9.0, 1.0, 3.0])
    result = measure(CASE, recorder, tmp_path, cycles=2, cold=False, clock=lambda: recorder.now)
    assert result.seconds == (1.0, 3.0)
    assert recorder.log == ["forget", "run", "run", "run"]
    assert (result.cold_start, result.warm_start, result.command_start) == (4.5, 1.0, 2.5)
    assert list(tmp_path.iterdir()) == []


def test_cold_forgets_before_each_cycle_outside_the_time(tmp_path):
    recorder = Recorder([4.0, 2.0])
    result = measure(CASE, recorder, tmp_path, cycles=2, cold=True, clock=lambda: recorder.now)
    assert result.seconds == (4.0, 2.0)
    assert recorder.log == ["forget", "run", "forget", "run"]
    assert (result.cold_start, result.warm_start) == (1.5, None)


@pytest.mark.parametrize(("seconds", "times"), [(0.5, 1), (0.6, 2), (10.0, 20)])
@pytest.mark.parametrize("cold", [False, True])
def test_a_clip_is_played_as_often_as_its_floor_takes(tmp_path, seconds, times, cold):
    recorder = Recorder([4.0, 2.0])
    result = measure(CASE, recorder, tmp_path, cycles=1, cold=cold, seconds=seconds, clock=lambda: recorder.now)
    again = ["forget"] if cold else []
    assert recorder.log == ["forget", "run", *again, f"run {times}-times.mp4"]
    assert result.case.target.name == f"{times}-times.mp4"
    assert result.cold_start == (1.0 if cold else 2.0)


def test_a_clip_played_twice_shows_the_same_frames_twice(tmp_path):
    make_clip(tmp_path / "clip.mp4")
    case = Case("64p", tmp_path / "source.jpg", tmp_path / "clip.mp4")
    assert played(case, 1, tmp_path, StopToken()) is case
    twice = played(case, 2, tmp_path, StopToken())
    assert (twice.resolution, twice.target) == ("64p", tmp_path / "clip-2-times.mp4")
    once, both = ([frame.to_ndarray().tobytes() for frame in decode(one.target)] for one in (case, twice))
    assert both == once * 2


def test_figures_of_a_clip():
    reports = (
        report(1.0, video_memory=300 * 2**20),
        report(5.0, 7, 2.0, waits=1.0),
        report(2.0, seconds=3.0, video_memory=200 * 2**20),
    )
    result = result_of(*reports)
    assert result.rates == (30.0, 15.0, 10.0)
    assert result.frames_per_second == 15.0
    assert result.ratios == (2.0, 4.0, 6.0)
    assert result.over_floor == 4.0
    assert result.peak_memory == 100 * 2**20
    assert result.peak_video_memory == 300 * 2**20
    assert result.stages == {"decode": 2.0}
    assert result.waits == {"wait for room": 0.25}
    heading, line, row, *details = table([result]).splitlines()
    assert re.split(" {2,}", heading) == [
        *("target", "cycles", "frames", "frames/s", "lowest", "highest", "over floor"),
        *("cold start s", "warm start s", "command start s", "peak MiB", "video MiB"),
    ]
    assert line == "-" * len(heading)
    figures = ["3", "30", "15.00", "10.00", "30.00", "4.00", "1.50", "0.50", "2.25", "100", "300"]
    assert row.split() == ["target-240p.mp4", *figures]
    assert details == [
        "240p by stage: decode 2.00 s, wait 0.25 s (for room 0.25 s)",
        "240p floor: 0.50 s (transcode 0.12 s, yunet 0.25 s, arcface 0.12 s); cycles took 2.00 to 6.00 times that",
        "240p models: yunet (cpu)",
        "240p threads: workers 2, window 6, frames together 1, decoder threads 1, threads of a graph 1, "
        "graphs at once any number on cpu:0, 4 on cuda:1",
    ]


def test_stages_are_told_in_the_order_of_a_frames_walk():
    stages = dict.fromkeys(("wait for turn", "encode", "paste", "face_swapper", "crop", "analyse", "decode"), 1.0)
    result = result_of(dataclasses.replace(report(), stages=stages))
    assert list(result.stages) == ["decode", "analyse", "crop", "face_swapper", "paste", "encode"]
    assert list(result.waits) == ["wait for turn"]


def test_graphs_with_other_threads_than_the_rest_are_named():
    threads = dataclasses.replace(THREADS, graph_threads={"a": 1, "b": 2, "c": 1}, gates={})
    told = table([result_of(dataclasses.replace(report(), threads=threads))]).splitlines()[-1]
    assert told.endswith("decoder threads 1, threads of a graph 1 (a, c), 2 (b)")


def test_what_was_not_measured_is_a_dash():
    row = table([result_of(report(), warm_start=None)]).splitlines()[2]
    assert row.split()[-5:] == ["1.50", "-", "2.25", "100", "-"]


def test_the_machine_is_told_in_two_lines():
    machine = {
        "processor": "Example CPU",
        "threads": 4,
        "memory_bytes": 8 << 30,
        "graphics": ["Example Card"],
        "system": "Linux",
        "facefusion": "4.0.0",
        "python": "3.11.7",
        "packages": {"numpy": "2.0"},
    }
    assert about_machine(machine) == (
        "machine: Example CPU, 4 threads, 8.0 GB, Linux, Example Card\n"
        "versions: facefusion 4.0.0, python 3.11.7, numpy 2.0\n"
    )
    assert about_machine(describe_machine()).count("\n") == 2


def test_records_are_lines_of_json_that_add_up(tmp_path):
    result = dataclasses.replace(result_of(), cycles=(Cycle(1.5, report(), FLOOR),))
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
        "cold_start_seconds": 1.5,
        "command_start_seconds": 2.25,
        "floor": {"networks": {"yunet": 0.25, "arcface": 0.125}, "kernels": 0.0, "transcode": 0.125},
        "stages": {"decode": 1.0, "wait for room": 0.25},
        "peak_memory_bytes": 100 * 2**20,
        "peak_video_memory_bytes": None,
        "threads": {
            "workers": 2,
            "window": 6,
            "together": 1,
            "decoder_threads": 1,
            "graph_threads": {"yunet": 1},
            "gates": {"cpu:0": None, "cuda:1": 4},
        },
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
