"""Options of the command that sends files to the fleet."""

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
