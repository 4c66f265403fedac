"""The script that fills the tables of the documentation, with runs that are told how they went."""

from __future__ import annotations

import os
from pathlib import Path

import av
import numpy as np
import pytest

from facefusion.benchmark.cases import ASSETS
from facefusion.benchmark.measure import CaseResult, Cycle
from facefusion.core.floor import Floor
from facefusion.memory.meter import high_water
from scripts.measure_performance import main
from scripts.performance import rows
from scripts.performance.clips import tiled
from scripts.performance.rows import ROWS, Bench
from scripts.performance.table import Growth, Line, table_of
from scripts.performance.task import GraphUse, StepRunner, Task, in_own_process
from tests.benchmark.test_measure import CASE, report
from tests.media.clips import make_clip

MEBIBYTE = 1 << 20


def measured(*seconds, floor=1.0):
    """A result of runs of 30 frames that took so long."""
    cycles = tuple(Cycle(one, report(seconds=one), Floor({}, 0.0, floor)) for one in seconds)
    return CaseResult(CASE, cycles, cold_start=1.0, command_start=2.0, warm_start=0.1)


class Processes:
    """In the place of processes: what each kind of work gives, one after the other."""

    def __init__(self, **results):
        self.results = {name: list(values) for name, values in results.items()}
        self.asked = []

    def __call__(self, work, *values, cores=None):
        self.asked.append((work.__name__, *values, cores))
        return self.results[work.__name__].pop(0)


@pytest.fixture
def bench(tmp_path):
    return Bench(cycles=3, seconds=10.0, growth_seconds=4.0, folder=tmp_path, thin=Path("thin"), real=Path("real"))


def lines(monkeypatch, bench, name, **results):
    processes = Processes(**results)
    monkeypatch.setattr(rows, "in_own_process", processes)
    monkeypatch.setattr(rows, "whole_command", lambda task: 2.0)
    found = list(ROWS[name](bench))
    assert not any(processes.results.values())
    return found, processes.asked


def test_runs_are_held_against_their_floor_and_memory_against_a_bare_process(monkeypatch, bench):
    graphs = (GraphUse(Path("a.onnx"), ()),)
    found, asked = lines(
        monkeypatch,
        bench,
        "real",
        measure_task=[measured(1.0, 1.04, 1.2), measured(1.06), measured(1.05)],
        first_run=[(240 * MEBIBYTE, graphs), (242 * MEBIBYTE, graphs), (MEBIBYTE, graphs)],
        bare_peak=[200 * MEBIBYTE] * 3,
    )
    assert found[:4] == [
        Line("360p, real networks", "1.04 (1.00 to 1.20); floor 1.0 s, 30 frames", "1.05", True),
        Line("360p, real networks, memory over a bare process's", "1.20 (240 MiB over 200 MiB)", "1.2", True),
        Line("720p, real networks", "1.06; floor 1.0 s, 30 frames", "1.05", False),
        Line("720p, real networks, memory over a bare process's", "1.21 (242 MiB over 200 MiB)", "1.2", False),
    ]
    task = Task(ASSETS / "target-360p.mp4", Path("real"), frames=rows.REAL_FRAMES)
    assert asked[:3] == [("measure_task", task, 3, 10.0, None), ("first_run", task, None), ("bare_peak", graphs, None)]


def test_cores_are_held_against_what_the_floor_gains(monkeypatch, bench):
    monkeypatch.setattr(rows, "read_machine", lambda: type("Machine", (), {"cores": 4.0}))
    one, four = measured(4.0, floor=4.0), measured(1.25, floor=1.0)
    found, asked = lines(monkeypatch, bench, "cores", measure_task=[one, four, one, measured(1.0, floor=1.0)])
    assert [line.measured for line in found] == [
        "0.80 (3.20 times as fast, the floor 4.00)",
        "1.00 (4.00 times as fast, the floor 4.00)",
    ]
    assert [line.held for line in found] == [False, True]
    assert [cores for *_, cores in asked] == [1, 4, 1, 4]


def test_a_long_clip_is_held_against_a_short_one(monkeypatch, bench):
    bench = Bench(3, 10.0, 4.0, bench.folder, None, None)
    short = [report(seconds=seconds, peak=100 * MEBIBYTE) for seconds in (1.0, 1.1, 1.2)]
    long = [report(seconds=seconds, peak=106 * MEBIBYTE) for seconds in (1.12, 1.0, 1.3)]
    found, asked = lines(monkeypatch, bench, "length", run_task=[[short, long]])
    assert [(line.measured, line.held) for line in found] == [("+1.8%", True), ("+6.0%", False)]
    assert asked[0][2:] == ((150, 600), 3, None)


def test_starts_are_held_against_the_cold_one(monkeypatch, bench):
    found, _ = lines(
        monkeypatch,
        bench,
        "start",
        starts=[[1.6, 0.3, 9.0, 0.6], [1.0, 0.2, 9.0, 0.5], [2.0, 0.4, 9.0, 0.4], [2.0, 9.0, 0.5]],
    )
    assert [(line.measured, line.held) for line in found] == [
        ("1.60 s", False),
        ("2.00 s", None),
        ("19% (0.30 s of 1.60 s)", True),
        ("31% (0.50 s of 1.60 s)", False),
        ("25% (0.50 s of 2.00 s)", True),
    ]


def test_growth_is_told_for_each_frame(monkeypatch, bench):
    monkeypatch.setattr(rows, "SMALL_TO_LARGE", ("240p",))
    results = [measured(3.0, floor=2.0), measured(6.0, floor=5.0)]
    found, asked = lines(monkeypatch, bench, "growth-size", measure_task=results)
    assert table_of(found) == (
        "| case | ms a frame | over the floor | peak memory |\n"
        "| --- | --- | --- | --- |\n"
        "| 240p, one face, thin networks | 100.0 | 1.50 | 100 MiB |\n"
        "| 240p, one face, mesh swapper | 200.0 | 1.20 | 100 MiB |\n"
    )
    assert found[0].measured == "ms a frame 100.0, over the floor 1.50, peak memory 100 MiB"
    assert Growth("a", 1.0, None, 2.0 * MEBIBYTE).cells == ("a", "1.0", "", "2 MiB")
    assert [words[2:] for words in asked] == [(1, 4.0, None)] * 2


def test_a_table_says_what_must_be_and_whether_it_is():
    assert table_of([Line("a", "1.0", "1.1", True), Line("b", "2 s", "1 s", False), Line("c", "3")]) == (
        "| case | must | measured | kept |\n"
        "| --- | --- | --- | --- |\n"
        "| a | 1.1 | 1.0 | yes |\n"
        "| b | 1 s | 2 s | **no** |\n"
        "| c |  | 3 |  |\n"
    )


def test_a_row_without_its_networks_is_said(capsys):
    main(["--rows", "real", "thin", "cores"])
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("machine: ")
    assert [line for line in told if "not measured" in line] == [
        "real: not measured, it needs --real",
        "thin: not measured, it needs --thin",
        "cores: not measured, it needs --thin",
    ]


def test_tiles_show_a_clip_or_nothing(tmp_path):
    flat = [[np.full((64, 96), 200, np.uint8), *[np.full((32, 48), code, np.uint8) for code in (90, 160)]]] * 3
    make_clip(tmp_path / "one.mp4", stamps=range(0, 3 * 512, 512), pictures=flat)
    tiled(tmp_path / "one.mp4", 3, tmp_path / "three.mp4")
    with av.open(str(tmp_path / "three.mp4")) as container:
        frames = [frame.to_ndarray(format="yuv420p") for frame in container.decode(video=0)]
    assert len(frames) == 3
    luma, chroma = frames[1][:128], frames[1][128:].reshape(2, 64, 96)
    for plane, shown, half in ((luma, 200, 64), (chroma[0], 90, 32), (chroma[1], 160, 32)):
        means = [
            part[4:-4, 4:-4].mean() for rows_ in (plane[:half], plane[half:]) for part in np.split(rows_, 2, axis=1)
        ]
        assert means == pytest.approx([shown, shown, shown, 128], abs=2)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system does not bind processes to cores")
def test_a_process_has_the_cores_it_is_given_and_this_one_keeps_its_own():
    before = os.sched_getaffinity(0)
    assert len(in_own_process(os.sched_getaffinity, 0, cores=1)) == 1
    assert in_own_process(os.sched_getaffinity, 0) == before == os.sched_getaffinity(0)


def test_a_run_is_as_long_as_was_reckoned(tmp_path, model_path):
    runner = StepRunner(Task(ASSETS / "target-240p.mp4", model_path("yunet").parent, frames=2))
    case = Task(ASSETS / "target-240p.mp4").case
    assert runner.run(case, tmp_path / "out.mp4").frames == 2
    assert model_path("yunet") in {graph.path for graph in runner.graphs}
    longer = runner.played(case, 3, tmp_path)
    assert longer is case
    assert runner.run(longer, tmp_path / "out.mp4").frames == 6
    assert runner.long_enough(case, 91, tmp_path).target == tmp_path / "target-240p-2-times.mp4"
    runner.forget()


def test_the_most_memory_of_a_process_is_what_the_system_tells(tmp_path):
    (tmp_path / "status").write_text("Name:\tpython\nVmHWM:\t    2048 kB\nVmRSS:\t 1024 kB\n", encoding="utf-8")
    assert high_water(tmp_path / "status") == 2 * MEBIBYTE
    assert high_water(tmp_path / "none") == 0
