"""The jobs folder that the settings name, for all commands that have to do with jobs."""

from __future__ import annotations

from facefusion.cli.command import Context
from facefusion.config.settings import PathsSettings
from facefusion.jobs.store import JobStore


def open_store(context: Context) -> JobStore:
    """The jobs of the folder."""
    return JobStore(context.state.snapshot.get(PathsSettings).jobs_path, context.events, stop=context.stop)
