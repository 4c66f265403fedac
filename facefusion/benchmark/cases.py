"""The sample clips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import facefusion
from facefusion.core.errors import SetupError
from facefusion.core.stop import StopToken
from facefusion.media.join import join_videos

ASSETS = Path(facefusion.__file__).resolve().parents[1] / "assets" / "benchmark"
SOURCE_NAME = "source.jpg"


@dataclass(frozen=True, slots=True)
class Case:
    """One clip to run."""

    resolution: str
    """Name of its height: ``720p``."""
    source: Path
    target: Path


def find_cases(resolutions: Sequence[str], folder: Path | None = None) -> tuple[Case, ...]:
    """The clips of the given resolutions, each once, in the order given.

    Raises:
        SetupError: a file is not there.
    """
    folder = folder or ASSETS
    source = folder / SOURCE_NAME
    cases = tuple(Case(name, source, folder / f"target-{name}.mp4") for name in dict.fromkeys(resolutions))
    for path in (source, *(case.target for case in cases)):
        if not path.is_file():
            raise SetupError(
                f"the benchmark's file {path} is not there",
                "Make it with: python scripts/make_assets.py --only benchmark",
            )
    return cases


def played(case: Case, times: int, folder: Path, stop: StopToken) -> Case:
    """A case whose clip is played several times over, one directly after the other.

    Its packets are copied, so it decodes to the same frames. The sample clips end nearly where they begin.

    Args:
        case: the clip; itself where it is played once.
        times: at least 1.
        folder: to write to.
        stop: asked now and then.

    Raises:
        MediaError: the clip cannot be read.
        OutputError: the longer one cannot be written.
        Stopped: a stop was requested.
    """
    if times == 1:
        return case
    target = folder / f"{case.target.stem}-{times}-times{case.target.suffix}"
    join_videos([case.target] * times, target, stop)
    return replace(case, target=target)
