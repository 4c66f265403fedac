"""The check of a card, rehearsed without one."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from scripts import check_gpu
from scripts.gpu_check import measures, parts
from scripts.gpu_check.findings import (
    Finding,
    Verdict,
    failed,
    from_json,
    judged,
    left_out,
    rehearsed,
    status,
    table,
    to_json,
    told,
)
from scripts.gpu_check.graphs import HandedOver, Place, load, noise
from scripts.gpu_check.measures import Runs, differences, measure_runs
from scripts.gpu_check.parts import PARTS, Part, place_from_json, place_to_json
from tests.inference.fakes import graph

ROOT = Path(__file__).parents[2]
KEPT, BROKEN = judged("4K", "20", "21", True), judged("4K", "20", "19", False)


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([KEPT], 0),
        ([KEPT, told("gate", "4")], 0),
        ([KEPT, left_out("level", "cuda")], 0),
        ([KEPT, BROKEN], 1),
        ([KEPT, failed("start", "took more than 75 s")], 1),
        ([], 1),
        ([rehearsed(BROKEN)], 0),
        ([rehearsed(failed("start", "ended with status 1"))], 1),
    ],
)
def test_what_is_missed_or_fails_ends_with_status_1(findings, expected):
    assert status(findings) == expected


def test_a_rehearsal_judges_nothing():
    assert [rehearsed(one).verdict for one in (KEPT, BROKEN, told("gate", "4"))] == [Verdict.REHEARSED] * 3
    assert rehearsed(left_out("level", "cuda")).verdict is Verdict.LEFT_OUT


def test_findings_come_back_from_another_process():
    findings = [KEPT, BROKEN, failed("a", "b | c"), told("ä", "1")]
    assert from_json(to_json(findings)) == findings
    for damaged in ("[1]", '[{"what": "a"}]', '[{"verdict": "good"}]', "{"):
        with pytest.raises(ValueError):
            from_json(damaged)


def test_the_table_has_a_row_for_each_finding():
    assert table([KEPT, left_out("level", "cuda")]).splitlines() == [
        "| what  | promised | measured | verdict  |",
        "|-------|----------|----------|----------|",
        "| 4K    | 20       | 21       | met      |",
        "| level |          | cuda     | left out |",
    ]


def test_each_part_gets_its_own_limit_and_all_share_one():
    now, limits = [0.0], {}

    def run(name, place, seconds):
        limits[name] = seconds
        now[0] += 40
        return [told(name, "")]

    chosen = {name: Part(60, PARTS["tests"].run) for name in "abcd"}
    findings = check_gpu.run_parts(chosen, Place("cpu", Path()), 122, run=run, clock=lambda: now[0])
    assert limits == {"a": 60, "b": 60, "c": 42}
    assert findings[-1] == failed("d", "no time was left of 122 s")


def test_a_part_that_takes_too_long_is_ended():
    (finding,) = check_gpu.run_part("tests", Place("cpu", Path()), 0.2)
    assert finding == failed("tests", "took more than 0 s")


def test_a_part_that_breaks_is_a_failure_and_no_end_of_the_check(capfd):
    (finding,) = check_gpu.run_part("nonesuch", Place("cpu", Path()), 60)
    assert finding == failed("nonesuch", "ended with status 1; see above")
    assert "KeyError: 'nonesuch'" in capfd.readouterr().err


def test_a_place_comes_back_from_another_process():
    for place in (Place("cpu", Path("cache")), Place("cuda", Path("c"), Path("models"), 1, side=48)):
        assert place_from_json(place_to_json(place)) == place


@pytest.fixture
def place(tmp_path, model_path):
    return Place("cpu", tmp_path / "cache", model_path("yunet").parent, side=32)


def test_parts_are_rehearsed_from_end_to_end(model_path, tmp_path, capsys):
    report = tmp_path / "report.md"
    arguments = ["--provider", "cpu", "--models-path", str(model_path("yunet").parent), "--report", str(report)]
    assert check_gpu.main([*arguments, "--parts", "engines"]) == 0
    printed = capsys.readouterr().out
    assert report.read_text("utf-8") == printed
    assert printed.startswith("A rehearsal without a card: no number below says anything about one.\n")
    assert "provider: cpu\n" in printed
    start, job = printed.splitlines()[-2:]
    assert start.split("|")[1].strip() == "start of sface_2021dec"
    assert start.split("|")[2].strip() == "cached at most 20% of the first"
    assert [row.split("|")[4].strip() for row in (start, job)] == ["rehearsed"] * 2


def test_without_a_card_the_check_refuses_and_says_how_to_rehearse(monkeypatch, capsys):
    monkeypatch.setattr(check_gpu, "_obstacle", lambda name: f"no card for {name}")
    assert check_gpu.main([]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "tensorrt does not work here: no card for tensorrt",
        "cuda does not work here: no card for cuda",
        "error: there is no card to check; --provider cpu rehearses the check without one",
    ]
    assert check_gpu.main(["--provider", "cuda"]) == 2
    assert capsys.readouterr().err == "error: cuda does not work here: no card for cuda\n"


def fake_runs(monkeypatch, **results):
    """Measurements as a card would give them, by precision or level, in their order."""
    results = {name: list(runs) for name, runs in results.items()}

    def measured(function, place, graph, *args, **options):
        if function is measures.measure_callers:
            return {1: 10.0, 2: 19.0, 4: 30.0, 8: 29.0}
        return results[options.get("precision") or ("ours" if place.level is None else "usual")].pop(0)

    monkeypatch.setattr(parts, "apart", measured)


def runs(start=1.0, run=0.01, memory=100 << 20, picture=0.5):
    return Runs(start, run, memory, {"picture": np.full((1, 3, 8, 8), picture, np.float32)})


@pytest.fixture
def card(place, monkeypatch):
    monkeypatch.setattr(Place, "find", lambda self, names: Path(f"{names[0]}.onnx"))
    return replace(place, provider="tensorrt")


def verdicts(findings):
    return [(finding.measured, finding.verdict.value) for finding in findings]


@pytest.mark.parametrize(("second", "verdict"), [(4.0, "met"), (4.4, "missed")])
def test_a_cached_start_takes_a_fifth_of_the_first(card, monkeypatch, second, verdict):
    fake_runs(monkeypatch, ours=[runs(start=20.0), runs(start=second)], usual=[runs(start=30.0)])
    assert verdicts(parts.check_engines(card))[0] == (f"20.0 s, then {second} s ({second / 20:.0%})", verdict)


@pytest.mark.parametrize(
    ("usual", "measured", "verdict"),
    [
        (10, "3.51 times as quick (13.0 and 3.7 s; a run 10.00 and 9.00 ms)", "met"),
        (1, "1.08 times as quick (4.0 and 3.7 s; a run 10.00 and 9.00 ms)", "missed"),
    ],
)
def test_level_and_cache_are_judged_by_a_job(card, monkeypatch, usual, measured, verdict):
    fake_runs(monkeypatch, usual=[runs(start=usual, run=0.01)], ours=[runs(start=30), runs(start=1, run=0.009)])
    assert verdicts(parts.check_engines(card))[1] == (measured, verdict)


def test_half_precision_is_judged_by_memory_and_speed_and_its_difference_is_told(card, monkeypatch):
    fake_runs(monkeypatch, full=[runs()], half=[runs(run=0.005, memory=50 << 20, picture=0.51)])
    assert verdicts(parts.check_half(card)) == [
        ("50% (100 and 50 MiB)", "met"),
        ("2.00 times (10.00 and 5.00 ms)", "met"),
        ("differs by 0.0100 at most, PSNR 40.0 dB", "told"),
    ]
    fake_runs(monkeypatch, full=[runs()], half=[runs(run=0.009, memory=90 << 20)])
    assert [verdict for _, verdict in verdicts(parts.check_half(card))] == ["missed", "missed", "told"]
    fake_runs(monkeypatch, full=[runs(memory=None)], half=[runs(memory=None)])
    assert verdicts(parts.check_half(card))[0] == ("no card tells its memory", "left out")


def test_what_compiles_nothing_is_not_judged_by_it(card, monkeypatch):
    fake_runs(monkeypatch, ours=[runs(start=2), runs(start=1)], usual=[runs()])
    assert verdicts(parts.check_engines(replace(card, provider="cuda"))) == [("2.0 s, then 1.0 s (50%)", "told")]


def test_nothing_passes_for_lack_of_models(place, monkeypatch):
    monkeypatch.setattr(Place, "find", lambda self, names: None)
    for check in (parts.check_engines, parts.check_half, parts.check_callers, parts.check_replay):
        assert [finding.verdict for finding in check(place)] == [Verdict.FAILED]


def test_runs_at_once_are_told(card, monkeypatch):
    fake_runs(monkeypatch)
    monkeypatch.setattr(Place, "plan", lambda self: SimpleNamespace(devices=[SimpleNamespace(free_memory=9 << 30)]))
    assert verdicts(parts.check_callers(card)) == [
        ("1: 10/s, 2: 19/s, 4: 30/s, 8: 29/s; most at 4", "told"),
        ("4", "told"),
    ]


@pytest.mark.parametrize(("wrong", "verdict"), [(0.5, "met"), (0.6, "missed")])
def test_all_ways_to_run_a_graph_have_to_give_the_same(card, monkeypatch, wrong, verdict):
    recorded = replace(runs(run=0.004, picture=wrong), replayed=True)
    fake_runs(monkeypatch, ours=[runs(), runs(run=0.009), recorded])
    speeds, numbers = verdicts(parts.check_replay(card))
    assert speeds == ("handed over 10.000 ms, on the card 9.000 ms, replayed 4.000 ms", "told")
    assert numbers[1] == verdict


def test_a_graph_that_cannot_be_recorded_is_told(card, monkeypatch):
    fake_runs(monkeypatch, ours=[runs()] * 3)
    assert verdicts(parts.check_replay(card))[0][0].endswith("replayed 10.000 ms (it could not be recorded)")


def test_a_graph_is_measured(place, tmp_path):
    measured = measure_runs(place, graph(tmp_path).path, seconds=0.0)
    assert measured.start_seconds > 0 < measured.run_seconds
    assert measured.memory is None
    inputs = noise(load(place.request(graph(tmp_path).path)).signature)
    np.testing.assert_array_equal(measured.outputs["y"], 3 * inputs["x"] + 1)


def test_noise_fits_a_graph_and_is_the_same_each_time(place, model_path):
    signature = load(place.request(model_path("yunet"))).signature
    assert [value.shape for value in signature.inputs.values()] == [(1, 3, None, None)]
    first, again = noise(signature, 64), noise(signature, 64)
    assert [tensor.shape for tensor in first.values()] == [(1, 3, 64, 64)]
    for name, tensor in first.items():
        np.testing.assert_array_equal(tensor, again[name])


def test_runs_that_hand_everything_over_keep_the_options_of_their_provider(place, tmp_path):
    request = replace(place, provider="cpu").request(graph(tmp_path).path)
    options = HandedOver(request.options)
    assert options.to_runtime() == request.options.to_runtime()
    assert options.memory() is None


def test_differences_of_pictures():
    white, grey = ({"picture": np.full((2, 2), value, np.float32)} for value in (1.0, 0.9))
    largest, likeness = differences(white, grey)
    assert (round(largest, 6), round(likeness, 4)) == (0.1, 20.0)
    assert differences(white, white) == (0.0, float("inf"))


def test_where_tensorrt_does_not_work_cuda_is_checked_and_it_is_said(monkeypatch, capsys):
    reasons = {"tensorrt": "no libraries", "cuda": None}
    monkeypatch.setattr(check_gpu, "_obstacle", reasons.get)
    checked = []

    def run(chosen, place, seconds):
        checked.append((list(chosen), place.provider))
        return [KEPT]

    monkeypatch.setattr(check_gpu, "run_parts", run)
    assert check_gpu.main([]) == 0
    said = capsys.readouterr()
    assert checked == [(list(PARTS), "cuda")]
    assert said.err == "tensorrt does not work here: no libraries\n"
    assert "provider: cuda\n" in said.out
    assert "rehearsal" not in said.out


def test_tests_for_cards_do_not_pass_by_being_skipped_where_a_card_is_said_to_be_there():
    def outcome(said):
        hidden = {"CUDA_VISIBLE_DEVICES": "", "FACEFUSION_TEST_GPU": said}
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-m",
            "gpu",
            "-p",
            "no:cacheprovider",
            "tests/gpu/test_engines.py",
        ]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **hidden}, capture_output=True, text=True, check=False, timeout=120
        )
        return done.returncode, done.stdout.splitlines()[-1]

    code, closing = outcome("")
    assert (code, closing.split(" in ")[0]) == (0, "3 skipped")
    code, closing = outcome("cuda")  # without TensorRT
    assert (code, closing.split(" in ")[0]) == (0, "3 skipped")
    code, closing = outcome("1")
    assert (code, closing.split(" in ")[0]) == (1, "3 errors")


def test_a_finding_is_a_row():
    assert Finding("a", "b", "c", Verdict.MET) == judged("a", "b", "c", True)
