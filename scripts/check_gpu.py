#!/usr/bin/env python3
"""Check everything that needs a graphics card, in less than five minutes.

    python scripts/check_gpu.py [--provider tensorrt|cuda] [--models-path FOLDER] [--report FILE]

It runs the tests for cards, swaps a face in the 4K clip, and measures what users were promised: starts with compiled
engines, half precision, 4K. Each part has a limit of its own and is ended there. The table it prints, as Markdown,
says for each promise what was measured. Its exit status is 0 where all promises are kept, 1 where one is not or could
not be measured, 2 where there is no card.

``--provider cpu`` rehearses it without a card: all of it runs, on smaller clips, and nothing is judged.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # started by its path
    sys.path.insert(0, str(ROOT))

from facefusion.benchmark.machine import describe_machine  # noqa: E402 - after the path is set
from facefusion.benchmark.report import about_machine  # noqa: E402
from facefusion.inference.execution import find_obstacle  # noqa: E402
from facefusion.inference.providers.registry import PROVIDERS  # noqa: E402
from facefusion.inference.runtime import read_runtime  # noqa: E402
from facefusion.inference.settings import ExecutionSettings, InferenceSettings  # noqa: E402
from scripts.gpu_check.findings import Finding, failed, from_json, rehearsed, status, table  # noqa: E402
from scripts.gpu_check.graphs import Place  # noqa: E402
from scripts.gpu_check.parts import PARTS, Part, place_to_json  # noqa: E402

NVIDIA = ("tensorrt", "cuda")
"""What is checked where nobody says, the first that works."""
REHEARSAL_SIDE = 48
LEAST_SECONDS = 5.0
NO_CARD = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check and return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--provider", choices=(*NVIDIA, "cpu"), help="default: tensorrt where it works, else cuda")
    parser.add_argument("--device", type=int, help="number of the card (default: the one with the most free memory)")
    parser.add_argument("--models-path", type=Path, help="folder with more models than the embedded ones")
    parser.add_argument("--parts", nargs="+", choices=tuple(PARTS), default=tuple(PARTS), help="default: all")
    parser.add_argument("--seconds", type=float, default=285.0, help="for all parts together (default: %(default)s)")
    parser.add_argument("--report", type=Path, help="file to which the table is written too")
    asked = parser.parse_args(arguments)
    provider = asked.provider or _first_that_works()
    if provider is None:
        return NO_CARD
    if provider != "cpu" and (reason := _obstacle(provider)):
        print(f"error: {provider} does not work here: {reason}", file=sys.stderr)
        return NO_CARD
    with tempfile.TemporaryDirectory(prefix="check-gpu-") as folder:
        side = {"side": REHEARSAL_SIDE} if provider == "cpu" else {}
        place = Place(provider, Path(folder), asked.models_path, asked.device, **side)
        findings = run_parts({name: PARTS[name] for name in asked.parts}, place, asked.seconds)
    if provider == "cpu":
        findings = [rehearsed(finding) for finding in findings]
    text = _report(provider, findings)
    print(text)
    if asked.report is not None:
        asked.report.write_text(f"{text}\n", encoding="utf-8")
    return status(findings)


def run_parts(
    parts: dict[str, Part],
    place: Place,
    seconds: float,
    *,
    run: Callable[[str, Place, float], list[Finding]] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> list[Finding]:
    """Run parts one after the other, each within its own limit and what is left of all.

    Args:
        parts: by name.
        place: where.
        seconds: for all of them.
        run: runs one within a limit; another function in tests.
        clock: seconds; another one in tests.
    """
    run = run or run_part
    end = clock() + seconds
    findings: list[Finding] = []
    for name, part in parts.items():
        left = min(part.seconds, end - clock())
        if left < LEAST_SECONDS:
            findings.append(failed(name, f"no time was left of {seconds:.0f} s"))
            continue
        print(f"{name}, at most {left:.0f} s ...", file=sys.stderr, flush=True)
        findings += run(name, place, left)
    return findings


def run_part(name: str, place: Place, seconds: float) -> list[Finding]:
    """Run a part in a process of its own, which is ended with all that it started once its time is over."""
    command = [sys.executable, "-m", "scripts.gpu_check.parts", name, place_to_json(place)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return [failed(name, f"took more than {seconds:.0f} s")]
    except BaseException:
        _end(process)
        raise
    lines = output.splitlines()
    if process.returncode != 0 or not lines:
        return [failed(name, f"ended with status {process.returncode}; see above")]
    try:
        return from_json(lines[-1])
    except ValueError as error:
        return [failed(name, str(error))]


def _end(process: subprocess.Popen[str]) -> None:
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()


def _first_that_works() -> str | None:
    for name in NVIDIA:
        reason = _obstacle(name)
        if reason is None:
            return name
        print(f"{name} does not work here: {reason}", file=sys.stderr)
    print("error: there is no card to check; --provider cpu rehearses the check without one", file=sys.stderr)
    return None


def _obstacle(name: str) -> str | None:
    with tempfile.TemporaryDirectory() as cache:
        found = find_obstacle(
            PROVIDERS[name], ExecutionSettings(), InferenceSettings(), runtime=read_runtime(), cache=Path(cache)
        )
    return None if found is None else found.reason


def _report(provider: str, findings: Sequence[Finding]) -> str:
    heading = "A rehearsal without a card: no number below says anything about one.\n\n" if provider == "cpu" else ""
    return f"{heading}{about_machine(describe_machine())}provider: {provider}\n\n{table(findings)}"


if __name__ == "__main__":
    raise SystemExit(main())
