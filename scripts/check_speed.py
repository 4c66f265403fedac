"""Warn where a short benchmark takes longer over its floor than is kept: ``python scripts/check_speed.py``.

The ratios are in ``assets/benchmark/ratios.json``, with how they are measured. Other arguments go to the benchmark,
such as ``--models-path``. A warning is no failure: the exit status is 0, unless nothing could be measured.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Run as a file, Python looks for modules beside it; ours lie in the repository's root.
sys.path.insert(0, str(ROOT))

from facefusion.benchmark.comparison import read_baseline  # noqa: E402
from facefusion.benchmark.ratios import RATIOS, read_ratios, regressions  # noqa: E402
from facefusion.benchmark.settings import LAST  # noqa: E402
from facefusion.core.errors import FaceFusionError, SetupError, Stopped  # noqa: E402


def benchmark(words: Sequence[str]) -> int:
    """Run the benchmark command with these options and return its exit status."""
    return subprocess.run([sys.executable, str(ROOT / "facefusion.py"), "benchmark", *words], check=False).returncode


def main(
    arguments: Sequence[str] = (), *, ratios_path: Path = RATIOS, run: Callable[[Sequence[str]], int] = benchmark
) -> int:
    """Measure, print what is slower than it was, and return the exit status.

    Args:
        arguments: more options of the benchmark.
        ratios_path: what is kept.
        run: runs the benchmark; another function in tests.

    Raises:
        SetupError: there are no ratios, or nothing was measured that they could be held against.
    """
    ratios = read_ratios(ratios_path)
    with tempfile.TemporaryDirectory(prefix="facefusion-") as folder:
        records = Path(folder) / "records.jsonl"
        measured = ["--benchmark-resolutions", *ratios.over_floor, "--benchmark-seconds", str(ratios.seconds)]
        kept = ["--benchmark-cycle-count", str(ratios.cycles), "--benchmark-record-path", str(records)]
        status = run([*measured, *kept, *arguments])
        if status:
            return status
        found = read_baseline(records, LAST)
    left_out = [resolution for resolution in ratios.over_floor if resolution not in found]
    if len(left_out) == len(ratios.over_floor):
        raise SetupError(
            f"the benchmark kept no record of {', '.join(left_out)}",
            "Give it no --help, --benchmark-resolutions or --benchmark-record-path.",
        )
    slower = regressions(ratios, {resolution: record.over_floor for resolution, record in found.items()})
    for sentence in slower:
        print(f"warning: {sentence}", flush=True)
    if not slower:
        but = f", but nothing was measured of {', '.join(left_out)}" if left_out else ""
        print(f"speed: as kept in {ratios_path.name}{but}", flush=True)
    return 0


def tell(check: Callable[[], int]) -> int:
    """Check, and say an error in one line; the exit status."""
    try:
        return check()
    except FaceFusionError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return error.exit_code
    except KeyboardInterrupt:
        return Stopped.exit_code


if __name__ == "__main__":
    raise SystemExit(tell(lambda: main(sys.argv[1:])))
