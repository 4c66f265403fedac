"""Measure what ``docs/performance.md`` tells, and print it as tables: ``python scripts/measure_performance.py --help``.

    python scripts/measure_performance.py --thin FOLDER --real FOLDER --rows mesh thin --cycles 5

Every figure comes from a process of its own, one after the other. A machine that does other work meanwhile spoils
seconds more than ratios, and both. ``--quick`` takes every figure once over a short clip: it proves the script, and is
no measurement. Networks of real size and thin ones are not part of the program: folders with files under the names that
FaceFusion gives them, whatever is in them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Run as a file, Python looks for modules beside it; ours lie in the repository's root.
sys.path.insert(0, str(ROOT))

from facefusion.benchmark.machine import describe_machine  # noqa: E402
from facefusion.benchmark.report import about_machine  # noqa: E402
from scripts.performance.rows import NEEDS, ROWS, SMALL_TO_LARGE, Bench  # noqa: E402
from scripts.performance.table import Growth, Line, table_of  # noqa: E402

QUICK_SECONDS = 0.2


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the rows that the command line names."""
    asked = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="facefusion-") as folder:
        _measure(asked, asked.folder or Path(folder))


def _measure(asked: argparse.Namespace, folder: Path) -> None:
    bench = Bench(
        cycles=asked.cycles,
        seconds=asked.seconds,
        growth_seconds=min(asked.seconds, asked.growth_seconds),
        folder=folder,
        thin=asked.thin,
        real=asked.real,
        resolutions=asked.resolutions,
    )
    if asked.quick:
        bench = replace(bench, cycles=1, seconds=QUICK_SECONDS, growth_seconds=QUICK_SECONDS)
    print(about_machine(describe_machine()), flush=True)
    for name in asked.rows:
        need = NEEDS.get(name)
        if need is not None and getattr(bench, need) is None:
            print(f"{name}: not measured, it needs --{need}\n", flush=True)
            continue
        begin = time.perf_counter()
        print(f"{name}\n\n{table_of(_told(name, bench))}", flush=True)
        print(f"({name} took {time.perf_counter() - begin:.0f} s)", file=sys.stderr, flush=True)


def _told(name: str, bench: Bench) -> list[Line | Growth]:
    """The lines of a row, each said on the error stream as soon as it is there."""
    lines: list[Line | Growth] = []
    for line in ROWS[name](bench):
        print(f"{line.case}: {line.measured}", file=sys.stderr, flush=True)
        lines.append(line)
    return lines


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS), help="what to measure")
    parser.add_argument("--thin", type=Path, help="folder of networks that cost next to nothing")
    parser.add_argument("--real", type=Path, help="folder of networks of real size")
    parser.add_argument("--cycles", type=int, default=3, help="runs of which the median is taken (default: 3)")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of a floor (default: 10)")
    parser.add_argument(
        "--growth-seconds", type=float, default=2.0, help="length where growth is looked at (default: 2)"
    )
    parser.add_argument("--resolutions", nargs="+", choices=SMALL_TO_LARGE, default=SMALL_TO_LARGE, help="only these")
    parser.add_argument("--folder", type=Path, help="to keep clips in that are made; else they are made anew")
    parser.add_argument("--quick", action="store_true", help="every figure once, and short: to try the script")
    return parser


if __name__ == "__main__":
    main()
