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
from scripts.gpu_check.measures import MEBIBYTE, Runs, apart, differences, measure_callers, measure_runs

ROOT = Path(__file__).parents[2]

MESH, RECOGNISER = ("face_mesh_478",), ("sface_2021dec",)
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
    told_so = {"FACEFUSION_TEST_GPU": "1" if place.provider == "tensorrt" else place.provider}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", "tests/gpu"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **told_so}, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stdout)
    closing = done.stdout.strip().splitlines()[-1:] or [done.stderr.strip()[-200:]]
    return [judged("tests/gpu", "all pass", closing[0].strip("= "), done.returncode == 0)]


def check_engines(place: Place) -> list[Finding]:
    """Starts without and with compiled engines, and a job with level 5 and a cache against TensorRT's own level."""
    graph = place.find(RECOGNISER)
    if graph is None:
        return [_missing("compiled engines", RECOGNISER)]
    with tempfile.TemporaryDirectory() as folder:
        fresh = replace(place, cache=Path(folder))
        first, cached = (apart(measure_runs, fresh, graph, seconds=1.0) for _ in range(2))
        usual = apart(measure_runs, replace(fresh, level=TENSORRT_LEVEL), graph, seconds=1.0)
    share = cached.start_seconds / first.start_seconds
    starts = f"{first.start_seconds:.1f} s, then {cached.start_seconds:.1f} s ({share:.0%})"
    if place.provider == "cuda":
        return [told(f"start of {graph.stem}; cuda compiles nothing", starts)]
    before, after = (runs.start_seconds + JOB_RUNS * runs.run_seconds for runs in (usual, cached))
    job = (
        f"{before / after:.2f} times as quick ({before:.1f} and {after:.1f} s; "
        f"a run {usual.run_seconds * 1e3:.2f} and {cached.run_seconds * 1e3:.2f} ms)"
    )
    return [
        judged(
            f"start of {graph.stem}", f"cached at most {CACHED_START:.0%} of the first", starts, share <= CACHED_START
        ),
        judged(
            f"{JOB_RUNS} runs and their start, level 5 and a cache against level {TENSORRT_LEVEL} and none",
            f"at least {LEVEL_GAIN} times",
            job,
            before / after >= LEVEL_GAIN,
        ),
    ]


def check_half(place: Place) -> list[Finding]:
    """Half precision against full: memory, speed, and the picture."""
    graph = place.find(PICTURES)
    if graph is None:
        return [_missing("half precision", PICTURES)]
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
    graph = place.find(RECOGNISER)
    if graph is None:
        return [_missing("runs at once", RECOGNISER)]
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
    graph = place.find(MESH)
    if graph is None:
        return [_missing("CUDA graphs", MESH)]
    if _on_card(place):
        place = replace(place, provider="cuda")
    ways: dict[str, Runs] = {
        "handed over": apart(measure_runs, place, graph, handed_over=True, seconds=1.0),
        "on the card": apart(measure_runs, place, graph, seconds=1.0),
        "replayed": apart(measure_runs, place, graph, replay=True, seconds=1.0),
    }
    measured = ", ".join(f"{way} {runs.run_seconds * 1e3:.3f} ms" for way, runs in ways.items())
    if not ways["replayed"].replayed:
        measured += " (it could not be recorded)"
    plain, *others = (runs.outputs for runs in ways.values())
    largest = max(abs(differences(plain, other)[0]) for other in others)
    name = next(iter(plain))
    bound = 1e-2 * float(abs(plain[name]).max())
    return [
        told(f"a run of {graph.stem}", measured),
        judged("its numbers, any way", "the same", f"differ by {largest:.2g} at most", largest <= bound),
    ]


PARTS: Mapping[str, Part] = {
    "video": Part(110, check_video),
    "tests": Part(90, run_tests),
    "engines": Part(80, check_engines),
    "half": Part(50, check_half),
    "replay": Part(30, check_replay),
    "callers": Part(25, check_callers),
}
"""In the order in which they are run: what matters most first, since all share a limit. What the clip's models compile
to is kept where the program keeps it, so that the tests find it."""


def _on_card(place: Place) -> bool:
    return place.provider != "cpu"


def _missing(what: str, names: Sequence[str]) -> Finding:
    """No reason to pass: the models come with pip."""
    return failed(what, f"{' or '.join(names)} was not found; fetch it with force-download --download-scope embedded")


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
