"""Options of what the program says about its work."""

from __future__ import annotations

from pathlib import Path

from facefusion.config.option import EVERY_COMMAND, Scope, option, settings_group

TEXT = "text"
JSON = "json"


@settings_group(section="misc", commands=EVERY_COMMAND)
class LogSettings:
    """In which form the program says what it does, and where that is kept."""

    log_format: str = option(
        TEXT,
        "form of what is said on the error stream and in the log file: lines for people, or one JSON object per line",
        choices=(TEXT, JSON),
        scope=Scope.JOB,
        own=True,
    )
    log_path: Path | None = option(
        None,
        "file to add all that is said to as well; at 10 MB a new one is begun, and five old ones are kept",
        scope=Scope.JOB,
        metavar="FILE",
        own=True,
    )
