"""Options of fetching models."""

from __future__ import annotations

from facefusion.config.option import EXECUTION_COMMANDS, Scope, option, settings_group

FETCHING_COMMANDS = (*EXECUTION_COMMANDS, "force-download")
ADDRESSES = ("github", "huggingface")


@settings_group(section="download", commands=FETCHING_COMMANDS)
class DownloadSettings:
    """Where models come from."""

    download_providers: tuple[str, ...] = option(
        ADDRESSES,
        "hosts to fetch models from, in order of preference",
        choices=ADDRESSES,
        scope=Scope.JOB,
        pending="the models of this version come from the package index, and from their makers' addresses after it",
    )
    download_scope: str = option(
        "lite",
        "how many models force-download fetches: 'full' adds the rarely used collections of the deep swapper",
        choices=("lite", "full"),
        scope=Scope.JOB,
        commands=("force-download",),
        pending="this version has no models outside of 'lite'",
    )
