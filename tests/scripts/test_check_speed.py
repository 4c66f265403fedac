"""The warning about what has become slower."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from facefusion.benchmark.ratios import RATIOS, read_ratios
from facefusion.benchmark.settings import RESOLUTIONS
from facefusion.core.errors import SetupError
from scripts.check_speed import main, tell

KEPT = {"over_floor": {"240p": 1.2, "360p": 1.1}, "seconds": 2, "cycles": 3, "tolerance": 0.1}


class Benchmark:
    """Keeps records of what it is told was measured."""

    def __init__(self, status=0, **over_floor):
        self.status = status
        self.over_floor = over_floor
        self.words = []

    def __call__(self, words):
        self.words = list(words)
        path = Path(words[words.index("--benchmark-record-path") + 1])
        for resolution, ratios in self.over_floor.items():
            entry = {"time": "2026-01-01", "resolution": resolution.strip("_"), "over_floor": ratios}
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(entry)}\n")
        return self.status


@pytest.fixture
def ratios(tmp_path):
    path = tmp_path / "ratios.json"
    path.write_text(json.dumps(KEPT), encoding="utf-8")
    return path


def check(ratios, benchmark, *arguments):
    return main(arguments, ratios_path=ratios, run=benchmark)


def test_what_is_slower_than_noise_explains_is_warned_of_and_passes(ratios, capsys):
    assert check(ratios, Benchmark(_240p=[1.1, 1.33, 1.5], _360p=[1.2])) == 0
    assert capsys.readouterr().out == (
        "warning: 240p takes 1.33 times its floor; 1.20 is kept in ratios.json, and up to 1.32 passes for noise. "
        "Look for what is slower now, or keep a new ratio.\n"
    )


def test_the_same_speed_and_more_of_it_are_no_reason_to_warn(ratios, capsys):
    assert check(ratios, Benchmark(_240p=[1.31], _360p=[0.9])) == 0
    assert capsys.readouterr().out == "speed: as kept in ratios.json\n"


def test_it_is_measured_as_the_ratios_were(ratios):
    benchmark = Benchmark(_240p=[1.0])
    check(ratios, benchmark, "--models-path", "elsewhere")
    assert benchmark.words[:7] == [
        *("--benchmark-resolutions", "240p", "360p", "--benchmark-seconds", "2.0"),
        *("--benchmark-cycle-count", "3"),
    ]
    assert benchmark.words[-2:] == ["--models-path", "elsewhere"]


def test_where_nothing_could_be_measured_it_fails(ratios, capsys):
    assert check(ratios, Benchmark(status=2)) == 2
    assert capsys.readouterr().out == ""


def test_where_nothing_was_measured_nothing_is_as_it_was(ratios, capsys):
    with pytest.raises(SetupError, match=r"the benchmark kept no record of 240p, 360p\. Give it no --help"):
        check(ratios, Benchmark(_720p=[1.0]), "--benchmark-resolutions", "720p")
    assert check(ratios, Benchmark(_360p=[0.9])) == 0
    assert capsys.readouterr().out == "speed: as kept in ratios.json, but nothing was measured of 240p\n"


@pytest.mark.parametrize(
    ("failure", "status", "said"),
    [(SetupError("no ratios", "Get some."), 2, "error: no ratios. Get some.\n"), (KeyboardInterrupt(), 4, "")],
)
def test_what_goes_wrong_is_told_in_one_line(capsys, failure, status, said):
    def check():
        raise failure

    assert tell(check) == status
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("content", [None, "{", "[]", "{}", '{"over_floor": 1}'])
def test_a_file_without_ratios_is_named(tmp_path, content):
    path = tmp_path / "ratios.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(SetupError, match=r"ratios\.json holds no ratios: .*Restore it from the repository\.$"):
        read_ratios(path)


def test_the_ratios_of_this_program_can_be_measured():
    kept = read_ratios(RATIOS)
    assert kept.over_floor
    assert set(kept.over_floor) <= set(RESOLUTIONS)
    assert all(1 <= ratio < 2 for ratio in kept.over_floor.values())
    assert 0 < kept.tolerance < 1
    assert kept.cycles >= 1
