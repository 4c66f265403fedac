"""Make ``assets/demo`` and ``assets/benchmark``: ``python scripts/make_assets.py [--only demo|benchmark]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Run as a file, Python looks for modules beside it; ours lie in the repository's root.
sys.path.insert(0, str(ROOT))

from scripts.assets.models import Models  # noqa: E402
from scripts.assets.production import make  # noqa: E402


def main() -> None:
    """Read the command line and make what it asks for."""
    parser = argparse.ArgumentParser(description="Make the demo and benchmark media out of public-domain portraits.")
    parser.add_argument("--only", choices=["demo", "benchmark"], help="make only one of the two")
    parser.add_argument("--models", type=Path, default=ROOT / "models", help="folder of the models (default: models)")
    parser.add_argument("--output", type=Path, default=ROOT / "assets", help="folder to write to (default: assets)")
    arguments = parser.parse_args()
    make(arguments.output, Models(arguments.models), arguments.only)


if __name__ == "__main__":
    main()
