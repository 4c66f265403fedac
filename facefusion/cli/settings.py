"""Options of the web page that ``run`` opens."""

from __future__ import annotations

from facefusion.config.option import Scope, option, settings_group

WITHOUT_PAGE = "this version has no web page"


@settings_group(section="uis", commands=("run",))
class UisSettings:
    """What the web page shows."""

    open_browser: bool = option(False, "open the page in a browser", scope=Scope.RUN, pending=WITHOUT_PAGE)
    ui_layouts: tuple[str, ...] = option(
        ("default",),
        "parts of the page, one tab each",
        choices=("benchmark", "default", "jobs", "webcam"),
        scope=Scope.RUN,
        pending=WITHOUT_PAGE,
    )
    ui_workflow: str = option(
        "instant_runner",
        "what the page begins with",
        choices=("instant_runner", "job_runner", "job_manager"),
        scope=Scope.RUN,
        pending=WITHOUT_PAGE,
    )
