"""What a command is, and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from facefusion.cli.application import Application
from facefusion.config.state import StateManager
from facefusion.core.stop import StopToken
from facefusion.jobs.model import JobStatus
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
class Positional:
    """An argument that stands without a flag."""

    name: str
    help: str
    is_number: bool = False
    """A whole number; below 0 is allowed."""
    choices: tuple[str, ...] = ()
    many: bool = False
    """Any number of them, none too."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command by name; its code is imported when it is used."""

    name: str
    help: str
    module: str
    """Module under :mod:`facefusion.cli.commands`."""
    function: str = "execute"
    """Its function, ``(context) -> int``."""
    positionals: tuple[Positional, ...] = ()
    minds_all: bool = False
    """Whether it is about every setting, not only about those that it takes."""

    def execute(self, context: Context) -> int:
        """Run the command and return the exit code."""
        module = import_module(f"facefusion.cli.commands.{self.module}")
        return cast("int", getattr(module, self.function)(context))


JOB = Positional("JOB_ID", "name of the job")
STEP = Positional("STEP_INDEX", "number of the step, counted from 0; -1 is the last", is_number=True)

COMMANDS: tuple[Command, ...] = (
    Command("run", "process an image or a video", "run"),
    Command("headless-run", "process an image or a video as a job of one step; never starts a server", "headless_run"),
    Command("batch-run", "process many files named by patterns", "batch_run"),
    Command(
        "force-download",
        "fetch models before they are needed",
        "force_download",
        positionals=(Positional("MODEL", "models to fetch; where none is named, see --download-scope", many=True),),
    ),
    Command(
        "models",
        "list all models, which are here, and their licences; or import one of yours",
        "models",
        positionals=(Positional("import FILE", "take in an ONNX file of yours; see --like", many=True),),
    ),
    Command("benchmark", "measure this machine on the sample clips", "benchmark"),
    Command(
        "job-list",
        "list the jobs of one status",
        "job_editing",
        "list_jobs",
        (Positional("JOB_STATUS", "jobs to list", choices=tuple(status.value for status in JobStatus)),),
    ),
    Command("job-create", "make a job without steps", "job_editing", "create", (JOB,)),
    Command("job-submit", "queue a drafted job", "job_editing", "submit", (JOB,)),
    Command("job-submit-all", "queue all drafted jobs", "job_editing", "submit_all"),
    Command("job-delete", "remove a job; what it made stays", "job_editing", "delete", (JOB,)),
    Command("job-delete-all", "remove all jobs; what they made stays", "job_editing", "delete_all"),
    Command("job-add-step", "add a step to a job", "job_editing", "add_step", (JOB,)),
    Command(
        "job-remix-step", "add a step that works on the result of another", "job_editing", "remix_step", (JOB, STEP)
    ),
    Command("job-insert-step", "put a step before another", "job_editing", "insert_step", (JOB, STEP)),
    Command("job-remove-step", "take a step out of a job", "job_editing", "remove_step", (JOB, STEP)),
    Command("job-run", "run a queued job", "job_running", "run", (JOB,)),
    Command("job-run-all", "run all queued jobs", "job_running", "run_all"),
    Command("job-retry", "run what is not done of a failed job", "job_running", "retry", (JOB,)),
    Command("job-retry-all", "run what is not done of all failed jobs", "job_running", "retry_all"),
    Command("serve", "answer requests over HTTP: upload files, have jobs done, fetch results", "serve"),
    Command("worker", "work for a fleet: take segments of jobs from its queue and render them", "worker"),
    Command("submit", "send files named by patterns to a fleet", "submit"),
    Command(
        "detect",
        "tell what marks files carry of how they were made",
        "detect",
        positionals=(Positional("FILE", "files to look at, whoever made them", many=True),),
    ),
    Command(
        "verify",
        "tell whether a file is as its signer left it",
        "verify",
        positionals=(Positional("FILE", "file to verify"),),
    ),
    Command(
        "trust",
        "tell who signs results, or make a local certificate for that",
        "trust",
        positionals=(
            Positional("ACTION", "init makes a local certificate, show tells who signs", choices=("init", "show")),
        ),
    ),
    Command("doctor", "look whether this machine has what it takes, and recommend settings", "doctor"),
    Command("clean", "remove temporary files that nobody needs any more", "clean"),
    Command("config", "show the settings in force and where each comes from", "config", minds_all=True),
    Command(
        "completion",
        "print a script that completes this program's commands and options in a shell",
        "completion",
        positionals=(Positional("SHELL", "shell to complete in", choices=("bash", "zsh")),),
    ),
)


def find_command(name: str) -> Command | None:
    """The command of that name, if there is one."""
    return next((command for command in COMMANDS if command.name == name), None)
