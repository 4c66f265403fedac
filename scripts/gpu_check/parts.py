"""The parts of the check. Each runs as a program of its own, so that one that hangs can be ended.

    python -m scripts.gpu_check.parts NAME PLACE

``PLACE`` is a JSON object with the fields of :class:`scripts.gpu_check.graphs.Place`. The last line printed is the
findings, as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

from facefusion.inference.providers.base import GATE_BYTES, gate_by_free_memory
from scripts.gpu_check.findings import Finding, failed, judged, left_out, to_json, told
from scripts.gpu_check.graphs import Place
from scripts.gpu_check.measures import MEBIBYTE, Runs, apart, differences, measure_callers, measure_runs, measure_start

ROOT = Path(__file__).parents[2]

FACES = ("face_mesh_478", "sface_2021dec")
"""Embedded models that every face goes through."""
PICTURES = ("hyperswap_1a_256", "inswapper_128", "gfpgan_1.4", "real_esrgan_x4plus", "waifu2x_photo_2x")
"""Models whose result is a picture, those first that most runs use."""

CACHED_START = 0.2
"""Of the first start, the share that one with compiled engines may take."""
HALF_MEMORY = 0.6
HALF_SPEED = 1.8
"""Half precision takes about half the memory at about twice the speed: within a fifth and a tenth of that."""
LEVEL_GAIN = 1.3
JOB_RUNS = 300
"""Of a graph in a job of ten seconds."""
RATE_4K = 20.0
CALLERS = (1, 2, 4, 8)
TENSORRT_LEVEL = 3
"""TensorRT's own."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the check."""

    seconds: float
    """It may take."""
    run: Callable[[Place], list[Finding]]


def run_tests(place: Place) -> list[Finding]:
    """The tests for cards, of which none may be left out where a card is said to be there."""
    told_so = {"FACEFUSION_TEST_GPU": "1" if _on_card(place) else "cpu"}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", "tests/gpu"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **told_so}, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stdout)
    closing = done.stdout.strip().splitlines()[-1:] or [done.stderr.strip()[-200:]]
    return [judged("tests/gpu", "all pass", closing[0].strip("= "), done.returncode == 0)]


def check_start(place: Place) -> list[Finding]:
    """The second start, with what the first one compiled, against the first."""
    what = f"start of {', '.join(FACES)}"
    graphs = [graph for name in FACES if (graph := place.find([name]))]
    if not graphs:
        return [left_out(what, "no graph was found; fetch them with force-download")]
    with tempfile.TemporaryDirectory() as folder:
        fresh = replace(place, cache=Path(folder))
        first, second = (apart(measure_start, fresh, graphs) for _ in range(2))
    measured = f"{first:.1f} s, then {second:.1f} s ({second / first:.0%})"
    if place.provider == "cuda":
        return [told(f"{what}, nothing is compiled with cuda", measured)]
    return [judged(what, f"cached at most {CACHED_START:.0%} of the first", measured, second <= CACHED_START * first)]


def check_half(place: Place) -> list[Finding]:
    """Half precision against full: memory, speed, and the picture."""
    graph = place.find(PICTURES)
    if graph is None:
        return [left_out("half precision", f"none of {', '.join(PICTURES)} was found")]
    full, half = (apart(measure_runs, place, graph, precision=precision) for precision in ("full", "half"))
    largest, likeness = differences(full.outputs, half.outputs)
    speed = full.run_seconds / half.run_seconds
    return [
        _memory_of_half(graph, full, half),
        judged(
            f"speed of {graph.stem} in half precision",
            f"about double (at least {HALF_SPEED} times)",
            f"{speed:.2f} times ({full.run_seconds * 1e3:.2f} and {half.run_seconds * 1e3:.2f} ms)",
            speed >= HALF_SPEED,
        ),
        told(f"picture of {graph.stem} in half precision", f"differs by {largest:.4f} at most, PSNR {likeness:.1f} dB"),
    ]


def check_level(place: Place) -> list[Finding]:
    """A job with the highest level and a cache against one with TensorRT's own level and none."""
    what = f"{JOB_RUNS} runs and their start, level 5 and a cache against level {TENSORRT_LEVEL} and none"
    if place.provider == "cuda":
        return [left_out(what, "cuda compiles no engines")]
    graph = place.find(FACES[-1:])
    if graph is None:
        return [left_out(what, f"{FACES[-1]} was not found")]
    with tempfile.TemporaryDirectory() as folder:
        fresh = replace(place, cache=Path(folder))
        usual = apart(measure_runs, fresh, graph, level=TENSORRT_LEVEL, seconds=1.0)
        apart(measure_start, fresh, [graph])
        ours = apart(measure_runs, fresh, graph, seconds=1.0)
    before, after = (runs.start_seconds + JOB_RUNS * runs.run_seconds for runs in (usual, ours))
    measured = (
        f"{before / after:.2f} times as quick ({before:.1f} and {after:.1f} s; "
        f"a run {usual.run_seconds * 1e3:.2f} and {ours.run_seconds * 1e3:.2f} ms)"
    )
    return [judged(what, f"at least {LEVEL_GAIN} times", measured, before / after >= LEVEL_GAIN)]


def check_video(place: Place) -> list[Finding]:
    """4K through the whole program."""
    resolution = "2160p" if _on_card(place) else "240p"
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "record.jsonl")
        command = [sys.executable, "facefusion.py", "benchmark", "--benchmark-resolutions", resolution]
        command += ["--benchmark-cycle-count", "1", "--execution-providers", place.provider]
        command += ["--benchmark-record-path", str(record)]
        if place.models is not None:
            command += ["--models-path", str(place.models)]
        if place.device is not None:
            command += ["--execution-device-ids", str(place.device)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        sys.stderr.write(done.stdout + done.stderr)
        if done.returncode != 0:
            return [failed(resolution, (done.stderr.strip().splitlines() or ["no word"])[-1])]
        entry: Mapping[str, Sequence[float]] = json.loads(record.read_text("utf-8").splitlines()[-1])
    rate = median(entry["frames_per_second"])
    floor = f"{rate:.1f} frames/s, {median(entry['over_floor']):.2f} times the floor"
    return [judged(resolution, f"{RATE_4K:.0f} frames/s or more", floor, rate >= RATE_4K)]


def check_callers(place: Place) -> list[Finding]:
    """How many runs at once a card gains from, beside the number that the gate lets through."""
    graph = place.find(FACES[-1:])
    if graph is None:
        return [left_out("runs at once", f"{FACES[-1]} was not found")]
    rates = apart(measure_callers, place, graph, CALLERS)
    best = max(rates, key=lambda count: rates[count])
    gate = gate_by_free_memory(place.plan().devices[0].free_memory)
    measured = ", ".join(f"{count}: {rate:.0f}/s" for count, rate in rates.items())
    return [
        told(f"{graph.stem}, runs at once", f"{measured}; most at {best}"),
        told(f"gate, one for each {GATE_BYTES // MEBIBYTE // 1024} GiB free", str(gate)),
    ]


def check_replay(place: Place) -> list[Finding]:
    """Buffers that stay on the card, and replayed launches, against runs that hand everything over."""
    graph = place.find(FACES[:1])
    if graph is None:
        return [left_out("CUDA graphs", f"{FACES[0]} was not found")]
    if _on_card(place):
        place = replace(place, provider="cuda")
    ways: dict[str, Runs] = {
        "handed over": apart(measure_runs, place, graph, handed_over=True, seconds=1.0),
        "on the card": apart(measure_runs, place, graph, seconds=1.0),
        "replayed": apart(measure_runs, place, graph, replay=True, seconds=1.0),
    }
    measured = ", ".join(f"{way} {runs.run_seconds * 1e3:.3f} ms" for way, runs in ways.items())
    plain, *others = (runs.outputs for runs in ways.values())
    largest = max(abs(differences(plain, other)[0]) for other in others)
    name = next(iter(plain))
    bound = 1e-2 * float(abs(plain[name]).max())
    return [
        told(f"a run of {graph.stem}", measured),
        judged("its numbers, any way", "the same", f"differ by {largest:.2g} at most", largest <= bound),
    ]


PARTS: Mapping[str, Part] = {
    "tests": Part(75, run_tests),
    "video": Part(60, check_video),
    "start": Part(75, check_start),
    "half": Part(50, check_half),
    "replay": Part(30, check_replay),
    "callers": Part(25, check_callers),
    "level": Part(75, check_level),
}
"""In the order in which they are run: what matters most first, since all share a limit."""


def _on_card(place: Place) -> bool:
    return place.provider != "cpu"


def _memory_of_half(graph: Path, full: Runs, half: Runs) -> Finding:
    what = f"memory of {graph.stem} in half precision"
    if full.memory is None or half.memory is None:
        return left_out(what, "no card tells its memory")
    share = half.memory / max(1, full.memory)
    measured = f"{share:.0%} ({full.memory // MEBIBYTE} and {half.memory // MEBIBYTE} MiB)"
    return judged(what, f"about half (at most {HALF_MEMORY:.0%})", measured, share <= HALF_MEMORY)


def place_to_json(place: Place) -> str:
    """As this program takes it."""
    return json.dumps(asdict(place), default=str)


def place_from_json(text: str) -> Place:
    """The place of :func:`place_to_json`."""
    fields = json.loads(text)
    models = fields["models"]
    return Place(**{**fields, "cache": Path(fields["cache"]), "models": Path(models) if models else None})


if __name__ == "__main__":
    print(to_json(PARTS[sys.argv[1]].run(place_from_json(sys.argv[2]))))
