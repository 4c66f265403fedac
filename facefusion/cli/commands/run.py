"""Processes at once where target and output are named; serves where they are not."""

from __future__ import annotations

from facefusion.cli.command import Context
from facefusion.cli.commands import serve
from facefusion.cli.settings import UisSettings
from facefusion.cli.step import finish, process
from facefusion.config.origin import Source
from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot


def execute(context: Context) -> int:
    """Process the request, or serve; the output's path is the last line, on the output stream.

    Raises:
        SetupError: it is to serve, and packages of the service are missing, or it cannot begin as it is set up.
    """
    if _is_to_serve(context):
        return serve.execute(context)
    application, stop = context.application, context.stop
    done = process(
        context, context.state.snapshot, lambda settings, events: application.execute(settings, events, stop)
    )
    return finish(context, done)


def _is_to_serve(context: Context) -> bool:
    """Whether nothing is to be processed: what an ini file holds is a default, what is typed is a request."""
    snapshot = context.state.snapshot
    paths = snapshot.get(PathsSettings)
    if _asks_for_page(snapshot):
        return True
    if paths.target_path is not None and paths.output_path is not None:
        return False
    return not any(_is_typed(snapshot, name) for name in ("target_path", "output_path"))


def _asks_for_page(snapshot: Snapshot) -> bool:
    """Whether the web page is wanted although an ini file names a target: FaceFusion's users fill it in like that."""
    if _is_typed(snapshot, "target_path"):
        return False
    return snapshot.get(UisSettings).open_browser or any(
        _is_typed(snapshot, name) for name in ("ui_layouts", "ui_workflow")
    )


def _is_typed(snapshot: Snapshot, name: str) -> bool:
    return snapshot.origin(name).source is Source.COMMAND_LINE
