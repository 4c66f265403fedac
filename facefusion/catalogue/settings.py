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


TEXT = "text"
JSON = "json"


@settings_group(section="models", commands=("models",))
class ModelsSettings:
    """How models are listed, and what one that is imported is."""

    models_format: str = option(
        TEXT,
        "how to list models: lines for people, or one JSON document for programs",
        choices=(TEXT, JSON),
        scope=Scope.RUN,
        in_ini=False,
        own=True,
    )
    like: str | None = option(
        None,
        "model whose family, size and template the imported one has; where none is named, the graph has to tell",
        scope=Scope.RUN,
        in_ini=False,
        metavar="MODEL",
        own=True,
    )
    name: str | None = option(
        None,
        "what to call the imported model; the name of its file where none is given",
        scope=Scope.RUN,
        in_ini=False,
        own=True,
    )
