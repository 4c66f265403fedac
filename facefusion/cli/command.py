"""What a command is, and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from facefusion.cli.application import Application
from facefusion.config.state import StateManager
from facefusion.core.stop import StopToken
from facefusion.observability.events import EventSink
from facefusion.observability.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Context:
    """Everything a command works with."""

    application: Application
    state: StateManager
    words: tuple[str, ...]
    """Positional arguments."""
    terminal: Terminal
    """For people, on the error stream."""
    write: Callable[[str], None]
    """Writes a result to the output stream."""
    events: EventSink
    stop: StopToken


@dataclass(frozen=True, slots=True)
class Command:
    """A command by name; its code is imported when it is used."""

    name: str
    help: str
    module: str
    """Module under :mod:`facefusion.cli.commands` with a function ``execute(context) -> int``."""
    words: tuple[str, str] | None = None
    """Name and help of its positional arguments, any number of them; none where it takes none."""

    def execute(self, context: Context) -> int:
        """Run the command and return the exit code."""
        module = import_module(f"facefusion.cli.commands.{self.module}")
        return cast("int", module.execute(context))


COMMANDS: tuple[Command, ...] = (
    Command("run", "process an image or a video", "run"),
    Command("headless-run", "process an image or a video; never starts a server", "headless_run"),
    Command("benchmark", "measure this machine on the sample clips", "benchmark"),
    Command(
        "force-download",
        "fetch models before they are needed",
        "force_download",
        words=("MODEL", "names of models to fetch; the embedded ones where none is given"),
    ),
    Command("clean", "remove temporary files that nobody needs any more", "clean"),
    Command("config", "show the settings in force and where each comes from", "config"),
)


def find_command(name: str) -> Command | None:
    """The command of that name, if there is one."""
    return next((command for command in COMMANDS if command.name == name), None)
