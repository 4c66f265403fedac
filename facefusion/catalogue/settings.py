"""Options of fetching, listing and importing models."""

from __future__ import annotations

from facefusion.config.option import EXECUTION_COMMANDS, Scope, option, settings_group

FETCHING_COMMANDS = (*EXECUTION_COMMANDS, "force-download")
ADDRESSES = ("github", "huggingface")
EMBEDDED = "embedded"
"""The scope of what pip alone can bring."""


@settings_group(section="download", commands=FETCHING_COMMANDS)
class DownloadSettings:
    """Where models come from."""

    download_providers: tuple[str, ...] = option(
        ADDRESSES,
        "hosts to fetch FaceFusion's models from, in order of preference; embedded ones come from the package index",
        choices=ADDRESSES,
        scope=Scope.JOB,
    )
    download_scope: str = option(
        "lite",
        "which models force-download fetches where none is named: 'embedded' those that come from the package index, "
        "the others all that 'models' lists; what the deep swapper takes is fetched by name",
        choices=(EMBEDDED, "lite", "full"),
        scope=Scope.JOB,
        commands=("force-download",),
    )
