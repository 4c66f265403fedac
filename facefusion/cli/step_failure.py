"""What is said and kept of a step that failed: which one, on which file, why, and what can be done in its command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from facefusion.cli.exit import Verdict, verdict
from facefusion.config.option import Scope
from facefusion.config.schema import Schema
from facefusion.core.errors import FaceFusionError, OptionError, Stopped
from facefusion.core.stop import StopToken
from facefusion.jobs.work import StepTask

FLAG = re.compile(r"--([a-z][a-z0-9-]*)")
SOURCES_SHOWN = 3
"""A list of sources longer than this is cut in a message."""

CHANGE = "A step's options are changed by another step in its place, with job-insert-step and job-remove-step."


@dataclass(frozen=True, slots=True)
class Wording:
    """How a command speaks of its steps."""

    name: Callable[[StepTask], str]
    """What the user knows a step as."""
    advice: Callable[[StepTask, str], str]
    """What to do where the remedy at hand is an option of the step; it is given that remedy."""


def _advice_in_job(task: StepTask, remedy: str) -> str:
    job = shlex.quote(task.job_id)
    return (
        f"{remedy} A step's options are changed by another step in its place: job-insert-step {job} {task.index}, then "
        f"job-remove-step {job} {task.index + 1} and job-retry {job}."
    ).lstrip()


IN_JOB = Wording(lambda task: f"step {task.index} of the job {task.job_id}", _advice_in_job)
"""Of commands that run jobs: as those that edit jobs number steps, since steps have to be edited."""


def outcome(error: Exception, stop: StopToken) -> Verdict:
    """What a step came to that raised something.

    Raises:
        Stopped: it failed since a stop was requested.
    """
    end = verdict(error, stop)
    if end.exit_code == Stopped.exit_code:
        raise Stopped(stop.reason) from error
    return end


def spoken(end: Verdict, task: StepTask, wording: Wording, schema: Schema) -> str:
    """What the user is told.

    Args:
        end: what the step came to.
        task: the step.
        wording: of the command.
        schema: tells which options belong to the step.
    """
    return _message(end, task, wording.name(task), lambda remedy: wording.advice(task, remedy), schema)


def kept(end: Verdict, task: StepTask, schema: Schema) -> str:
    """What the job's file says, below which the step's index may change."""
    return _message(end, task, "", lambda remedy: f"{remedy} {CHANGE}".lstrip(), schema)


def change_of_step(remedy: str, schema: Schema) -> str:
    """A remedy, and how to follow it where it is an option of a step that was put into a job."""
    return f"{remedy} {CHANGE}" if _is_option_of_step(remedy, schema) else remedy


def with_files(task: StepTask, fault: str) -> str:
    """A fault behind what was worked on, unless it names that itself."""
    return ": ".join(part for part in (_files(task, fault), fault) if part)


def _message(end: Verdict, task: StepTask, name: str, advise: Callable[[str], str], schema: Schema) -> str:
    error = end.error
    fault = error.fault if isinstance(error, FaceFusionError) else end.message
    where = ", ".join(part for part in (name, _files(task, fault)) if part)
    said = f"{where}: {fault}" if where else fault
    if not isinstance(error, FaceFusionError):
        return said
    of_step = isinstance(error, OptionError) or _is_option_of_step(error.remedy, schema)
    return str(FaceFusionError(said, advise(error.remedy) if of_step else error.remedy))


def _files(task: StepTask, fault: str) -> str:
    """What a step works on, in a few words; nothing where the fault names it."""
    if task.target is None:
        return "" if task.output is None else f"output {task.output}"
    if _names(fault, task.target):
        return ""
    listed = task.step.args.get("source_paths")
    sources = [str(one) for one in listed] if isinstance(listed, list) else []
    more = len(sources) - SOURCES_SHOWN
    shown = ", ".join(sources[:SOURCES_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return f"target {task.target} with {shown}" if shown else f"target {task.target}"


def _names(text: str, path: Path) -> bool:
    return re.search(rf"(?<!\S){re.escape(str(path))}(?=[\s:,.]|$)", text) is not None


def _is_option_of_step(remedy: str, schema: Schema) -> bool:
    named = (schema.get(flag.replace("-", "_")) for flag in FLAG.findall(remedy))
    return any(spec is not None and spec.about.scope is Scope.STEP for spec in named)
