"""Fetches models before they are needed."""

from __future__ import annotations

from facefusion.cli.command import Context


def execute(context: Context) -> int:
    """Fetch the models named, or the embedded ones; their names go to the output stream, one a line."""
    names = context.words or None
    fetched = context.application.fetch_models(context.state.snapshot, context.events, context.stop, names)
    context.stop.check()
    context.write("".join(f"{name}\n" for name in fetched))
    return 0
