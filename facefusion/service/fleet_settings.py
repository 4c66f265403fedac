"""Options of the commands that send files to the fleet, and that work for it."""

from __future__ import annotations

from facefusion.config.option import Scope, option, settings_group
from facefusion.service.records import Priority


@settings_group(section="service", commands=("submit",))
class SubmitSettings:
    """How jobs are sent."""

    wait: bool = option(
        False, "wait until the fleet is done, and write the results where the output pattern says",
        scope=Scope.RUN, own=True,
    )  # fmt: skip
    priority: str = option(
        Priority.NORMAL.value,
        "which of the jobs that wait come first",
        choices=tuple(each.value for each in Priority),
        scope=Scope.RUN,
        own=True,
    )


@settings_group(section="service", commands=("worker",))
class WorkerSettings:
    """How a worker looks after itself."""

    stall_minutes: float = option(
        10.0,
        "minutes without a frame, or a run of a model, after which the work on a segment counts as hanging: others "
        "take the segment, and the worker ends unless the work does",
        minimum=0.05,
        maximum=24.0 * 60,
        scope=Scope.RUN,
        own=True,
    )
    loading_minutes: float = option(
        60.0,
        "the same while files are fetched, models are loaded and compiled, and results are put together",
        minimum=0.05,
        maximum=24.0 * 60,
        scope=Scope.RUN,
        own=True,
    )
    asset_copies: float = option(
        10.0,
        "gigabytes of uploads that are kept on this machine's disk for the next segment, where storage_url is set; "
        "they go when the upload is erased",
        minimum=0.0,
        scope=Scope.RUN,
        own=True,
    )
