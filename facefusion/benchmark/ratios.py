"""The ratios that are kept with the program, and a warning where a measurement is above them.

Ratios and not seconds, since they hold on any machine; a warning and no failure, since machines are noisy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from facefusion.benchmark.cases import ASSETS
from facefusion.core.errors import SetupError

RATIOS = ASSETS / "ratios.json"


@dataclass(frozen=True, slots=True)
class Ratios:
    """What runs took over their floors when they were last looked at on a quiet machine."""

    over_floor: Mapping[str, float]
    """By resolution."""
    seconds: float
    """How long the floor of a cycle was (``--benchmark-seconds``)."""
    cycles: int
    """The ratios are medians of so many."""
    tolerance: float
    """The share by which a measurement may be above its ratio: less may be noise."""


def read_ratios(path: Path = RATIOS) -> Ratios:
    """The ratios of a file.

    Raises:
        SetupError: it is not there, or holds something else.
    """
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        over_floor = {str(resolution): float(ratio) for resolution, ratio in kept["over_floor"].items()}
        return Ratios(over_floor, float(kept["seconds"]), int(kept["cycles"]), float(kept["tolerance"]))
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise SetupError(f"{path} holds no ratios: {error}", "Restore it from the repository.") from error


def regressions(ratios: Ratios, measured: Mapping[str, float]) -> list[str]:
    """A sentence for each resolution that takes more over its floor than is kept.

    Args:
        ratios: what is kept.
        measured: times over floors, by resolution; one that nothing is kept of is passed over.
    """
    return [
        f"{resolution} takes {measured[resolution]:.2f} times its floor; {kept:.2f} is kept in {RATIOS.name}, and up "
        f"to {kept * (1 + ratios.tolerance):.2f} passes for noise. Look for what is slower now, or keep a new ratio."
        for resolution, kept in ratios.over_floor.items()
        if measured.get(resolution, 0.0) > kept * (1 + ratios.tolerance)
    ]
