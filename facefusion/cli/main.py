"""The command line's entry: from words to an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from facefusion import __version__
from facefusion.benchmark.settings import BenchmarkSettings
from facefusion.catalogue.settings import ModelsSettings
from facefusion.cli.application import Application, load_application
from facefusion.cli.command import Context
from facefusion.cli.exit import conclude
from facefusion.cli.logging_setup import set_up, set_up_early
from facefusion.cli.parser import HelpRequested, Invocation, parse_command, split_command
from facefusion.cli.settings import UisSettings
from facefusion.cli.signals import work_listening
from facefusion.cli.streams import Output, claim_standard_descriptors
from facefusion.config.option import EXECUTION_COMMANDS, RUN_COMMANDS
from facefusion.config.schema import Schema
from facefusion.config.sources import Merged, merge
from facefusion.config.state import Snapshot, StateManager
from facefusion.core.errors import SetupError, Stopped
from facefusion.core.stop import StopToken
from facefusion.doctor.settings import AutoTuneSettings, DoctorSettings
from facefusion.observability.events import EventSink
from facefusion.observability.settings import LogSettings
from facefusion.observability.sinks import TerminalSink
from facefusion.observability.terminal import Terminal
from facefusion.provenance.settings import CheckSettings
from facefusion.service.fleet_settings import SubmitSettings, WorkerSettings
from facefusion.service.settings import MonitoringSettings, ServiceSettings


def main(words: Sequence[str] | None = None, application: Application | None = None) -> int:
    """Run one command line and return its exit code.

    Args:
        words: the arguments behind the program's name; those of the process where none are given.
        application: the program behind the commands; the real one where none is given.
    """
    claim_standard_descriptors()
    terminal = Terminal(sys.stderr)
    output = Output(sys.stdout)
    stop = StopToken()
    words = sys.argv[1:] if words is None else words
    set_up_early(words, os.environ, terminal)
    try:
        return _answer(words, application, terminal, output, stop)
    except (Exception, Stopped, KeyboardInterrupt) as error:  # noqa: BLE001 - the outermost loop
        return conclude(error, terminal, stop)


def program_schema(application: Application) -> Schema:
    """All options of the program, the command line's own among them."""
    own = (AutoTuneSettings, BenchmarkSettings, CheckSettings, DoctorSettings, ModelsSettings, UisSettings, LogSettings)
    service = (ServiceSettings, MonitoringSettings, SubmitSettings, WorkerSettings)
    groups = (*application.settings_groups(), *own, *service)
    return Schema.of(groups, application.option_choices(), application.awaited_choices())


def _check_working_folder() -> None:
    """Paths mean nothing in a folder that was removed."""
    try:
        Path.cwd()
    except OSError as error:
        raise SetupError(f"the working folder: {error.strerror}", "Change into a folder that is there.") from error


def _answer(
    words: Sequence[str], application: Application | None, terminal: Terminal, output: Output, stop: StopToken
) -> int:
    """Do what the words ask for, or show the help that they ask for."""
    try:
        command, rest = split_command(words, __version__)
        program = application or load_application()
        schema = program_schema(program)
        invocation = parse_command(command, rest, schema)
        _check_working_folder()
        # Before signals are listened to: an ini file may be a pipe that nobody writes to, and Ctrl-C ends that wait.
        merged = merge(schema, invocation.arguments, os.environ, None if command.minds_all else command.name)
    except HelpRequested as request:
        text = request.text
    else:
        return work_listening(lambda: _execute(invocation, merged, program, terminal, output, stop), stop, terminal)
    # Not while the request is handled: what fails here has nothing to do with it.
    output.write(text)
    return 0


def _execute(
    invocation: Invocation,
    merged: Merged,
    application: Application,
    terminal: Terminal,
    output: Output,
    stop: StopToken,
) -> int:
    command = invocation.command
    set_up(merged.snapshot, terminal)
    for warning in merged.warnings:
        terminal.line(warning, "warn")
    events = TerminalSink(terminal)
    context = Context(
        application=application,
        state=StateManager(_tuned(merged.snapshot, command.name, application, events, stop)),
        words=invocation.words,
        terminal=terminal,
        write=output.write,
        events=events,
        stop=stop,
    )
    return command.execute(context)


def _tuned(snapshot: Snapshot, command: str, application: Application, events: EventSink, stop: StopToken) -> Snapshot:
    """The settings that suit this machine, where that is asked for."""
    if command not in EXECUTION_COMMANDS or not snapshot.get(AutoTuneSettings).auto_tune:
        return snapshot
    from facefusion.doctor.tune import auto_tune  # noqa: PLC0415 - looks at devices, so it needs ONNX Runtime

    tuned = auto_tune(snapshot, events, sizes_target=command in RUN_COMMANDS)
    application.calibrate(tuned, events, stop)
    return tuned
