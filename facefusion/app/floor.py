"""What the last step would have cost at least."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from pathlib import Path

from facefusion.app.calibration import thread_plans, usable_cores
from facefusion.app.kept_graphs import kept_graphs
from facefusion.app.models import CODE_ONLY
from facefusion.app.sessions import Sessions
from facefusion.app.video import planned_encoding
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.checksums import digest_of
from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import UsageError
from facefusion.core.floor import Floor
from facefusion.core.report import RunReport
from facefusion.core.stop import StopToken
from facefusion.inference.bare import Division, Share, measure_division, measure_divisions, measure_in_turn
from facefusion.inference.calibration import choose
from facefusion.inference.pool import InferencePool
from facefusion.inference.runtime import read_runtime
from facefusion.media.probe import probe
from facefusion.media.settings import TrimSettings
from facefusion.media.transcode import transcode_seconds
from facefusion.observability.events import Fanout

MEASURED_SECONDS = 0.5
"""For which each graph is run in each way to use the cores."""

IN_TURN_SECONDS = 3.0
"""For which graphs are run in turn."""


def measure_floor(snapshot: Snapshot, sessions: Sessions, report: RunReport, folder: Path, stop: StopToken) -> Floor:
    """Measure the parts of the last step that no program can do without, one by one.

    Args:
        snapshot: the step's settings.
        sessions: that it used, with its pool still open.
        report: of the step.
        folder: to write to.
        stop: ends it.

    Raises:
        FaceFusionError: its networks or codecs cannot be run by themselves.
        Stopped: ``stop`` was requested.
    """
    target, output = snapshot.get(PathsSettings).target_path, snapshot.get(PathsSettings).output_path
    pool = sessions.pool
    if target is None or output is None or pool is None:
        raise UsageError("no step was run whose floor could be measured", "Run a step first.")
    info, cores = probe(target), usable_cores()
    start, end = snapshot.get(TrimSettings).bounds
    encoding = planned_encoding(snapshot, info, info.size, output)
    return Floor(
        networks=_networks(pool, cores, stop),
        kernels=_kernels(report) / cores,
        transcode=transcode_seconds(info, encoding, folder / "floor.mkv", start=start or 0, end=end, stop=stop),
    )


def _networks(pool: InferencePool, cores: int, stop: StopToken) -> dict[str, float]:
    """Seconds of all runs of each model. How it runs best is remembered on the way.

    Each graph is measured by itself for the best use of the cores, and with all those that use them the same way in
    turn for what its runs take.
    """
    plans, longest = thread_plans(), defaultdict[str, float](float)
    alike = defaultdict[Division, list[Share]](list)
    load = kept_graphs(read_runtime().version, Fanout())
    for runs in pool.tally.runs():
        stop.check()
        request = pool.request(runs.model)
        measured = measure_divisions(request, runs.fed, cores, MEASURED_SECONDS, load=load)
        best = min(measured, key=lambda division, measured=measured: measured[division].seconds)  # type: ignore[misc]
        alike[best].append(Share(request, runs.fed, runs.count))
        least = runs.count * measured[best].seconds
        if request.is_for_the_processor and least > longest[runs.model.name]:
            longest[runs.model.name] = least
            again = partial(measure_division, request, runs.fed, seconds=MEASURED_SECONDS, load=load)
            chosen = choose(request, runs.fed, measured, again, load=load)
            if chosen is not None:
                plans.remember(digest_of(runs.model.path), chosen)
    seconds = defaultdict[str, float](float)
    for division, shares in alike.items():
        stop.check()
        for share, taken in zip(shares, measure_in_turn(shares, division, IN_TURN_SECONDS, load=load), strict=True):
            seconds[share.request.model.name] += taken
    return dict(seconds)


def _kernels(report: RunReport) -> float:
    """Processor seconds of the processors whose model is code."""
    catalogue = Catalogue.load()
    kinds = {catalogue.card(name).kind for name, provider in report.models.items() if provider == CODE_ONLY}
    return sum(seconds for stage, seconds in report.processor_seconds.items() if stage in kinds)
