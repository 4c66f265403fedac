"""A job's file: FaceFusion's JSON, with a version of our own beside its version.

FaceFusion writes ``version``, ``date_created``, ``date_updated`` and ``steps`` of ``status`` and ``args``. We add
``format``, ``id``, ``date_submitted``, and to a step ``format``, ``error``, ``refused``, ``number``, ``delivered`` and
``file``; all may be missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from facefusion.core.errors import JobError
from facefusion.core.wording import shown
from facefusion.jobs.ids import digest
from facefusion.jobs.model import Job, JobStatus, JobStep, StepStatus, names_step_file

VERSION = "1"
"""FaceFusion's, in all of its releases."""

FORMAT = 1
"""Ours. A file with a greater one is not touched."""

EXTENSION = ".json"
INDENT = "    "
STEP_STATUSES = {status.value: status for status in StepStatus}


class StepTexts:
    """What was written last of each step, on lines of its own. Of a batch's thousands few change each time."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[JobStep, bytes]] = {}

    def of(self, steps: Sequence[JobStep]) -> list[bytes]:
        """The texts of steps, which are remembered in place of those before."""
        self._known = {id(step): (step, self._text(step)) for step in steps}
        return [self._known[id(step)][1] for step in steps]

    def _text(self, step: JobStep) -> bytes:
        known = self._known.get(id(step))
        return f"\n{2 * INDENT}{_text_of_step(step)}".encode("ascii") if known is None else known[1]


def encode(job: Job, texts: StepTexts | None = None) -> bytes:
    """The content of the job's file.

    Args:
        job: to be written.
        texts: remembers what it consists of, from one call to the next.
    """
    table = {
        "version": VERSION,
        "format": FORMAT,
        **({} if job.typed is None else {"id": job.typed}),
        "date_created": job.created.isoformat(),
        "date_updated": _text_of(job.updated),
        "date_submitted": _text_of(job.submitted),
    }
    begin = f",\n{INDENT}".join([*_members(table), '"steps": ['])
    # Megabytes, where there are thousands of them: not to be copied more often than it takes.
    steps = b",".join((texts or StepTexts()).of(job.steps))
    return b"".join((f"{{\n{INDENT}{begin}".encode("ascii"), steps, f"\n{INDENT}]\n}}\n".encode("ascii")))


def decode(data: bytes, path: Path, status: JobStatus) -> Job:
    """The job that a file holds.

    Args:
        data: the file's content.
        path: the file, which gives the id, and is named in errors.
        status: that of the folder it lies in.

    Raises:
        JobError: the content is no job, or one of a later version.
    """
    try:
        table = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _broken(path, f"it is no JSON ({error})") from error
    if not isinstance(table, dict):
        raise _broken(path, "it holds no object")
    _check_version(table, path)
    steps = table.get("steps")
    if not isinstance(steps, list):
        raise _broken(path, "'steps' is no list")
    created = _moment(table, "date_created", path)
    if created is None:
        raise _broken(path, "'date_created' is missing")
    return Job(
        id=path.stem,
        status=status,
        created=created,
        updated=_moment(table, "date_updated", path),
        steps=tuple(_step(step, index, path) for index, step in enumerate(steps)),
        submitted=_moment(table, "date_submitted", path),
        typed=_typed_id(table, path),
    )


def _text_of(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _text_of_step(step: JobStep) -> str:
    table: dict[str, object] = {"status": step.status.value}
    if not step.foreign:
        table["format"] = FORMAT
    if step.fault:
        table["error"] = step.fault
    if step.refused:
        table["refused"] = True
    if step.number is not None:
        table["number"] = step.number
    if step.delivered:
        table["delivered"] = True
    if step.kept:
        table["file"] = step.kept
    return _block([*_members(table), f'"args": {_text_of_args(step.args)}'], 3)


def _text_of_args(args: Mapping[str, object]) -> str:
    """A line for each value. Of a batch there are a hundred thousand, and where ``json`` indents it is slow."""
    if not args:
        return "{}"
    text = json.dumps(dict(args), separators=(f",\n{4 * INDENT}", ": "))
    return _block([text[1:-1]], 4)


def _members(table: Mapping[str, object]) -> list[str]:
    return [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items()]


def _block(members: Iterable[str], depth: int) -> str:
    """An object, each member on a line of its own."""
    gap = "\n" + depth * INDENT
    return f"{{{gap}{f',{gap}'.join(members)}\n{(depth - 1) * INDENT}}}"


def _check_version(table: Mapping[str, object], path: Path) -> None:
    form, version = table.get("format", FORMAT), table.get("version")
    if type(form) is not int or form < 1:
        raise _broken(path, f"'format' is {form!r}, not a whole number from 1 on")
    if version is None:
        raise _broken(path, "'version' is missing")
    if not isinstance(version, str) or not version.strip():
        raise _broken(path, f"'version' is {shown(repr(version))}, not the text \"{VERSION}\"")
    if form > FORMAT or version != VERSION:
        raise JobError(
            f"the job file {path} is of a later version than this program",
            "Update the program; the file was left as it is.",
        )


def _typed_id(table: Mapping[str, object], path: Path) -> str | None:
    """What was typed for the name of the file; a copy of the file under another name is another job."""
    text = table.get("id")
    return text if isinstance(text, str) and digest(text) == path.stem else None


def _moment(table: Mapping[str, object], key: str, path: Path) -> datetime | None:
    text = table.get(key)
    if text is None:
        return None
    try:
        return datetime.fromisoformat(str(text)).astimezone()
    except (ValueError, OverflowError) as error:
        raise _broken(path, f"{key!r} is {text!r}, not a date as 2026-01-31T12:00:00+00:00") from error


def _step(table: object, index: int, path: Path) -> JobStep:
    if not isinstance(table, dict):
        raise _broken(path, f"step {index} is no object")
    status, args, fault, number, kept = (table.get(key) for key in ("status", "args", "error", "number", "file"))
    if not isinstance(status, str) or status not in STEP_STATUSES:
        raise _broken(path, f"'status' of step {index} is {status!r}, not one of {', '.join(STEP_STATUSES)}")
    if not isinstance(args, dict):
        raise _broken(path, f"'args' of step {index} is no object")
    if number is not None and (type(number) is not int or number < 0):
        raise _broken(path, f"'number' of step {index} is {number!r}, not a whole number from 0 on")
    return JobStep(
        status=STEP_STATUSES[status],
        args=args,
        fault=fault if isinstance(fault, str) else "",
        refused=table.get("refused") is True,
        number=number,
        delivered=table.get("delivered") is True,
        kept=kept if isinstance(kept, str) and names_step_file(path.stem, kept) else "",
        foreign="format" not in table,
    )


def _broken(path: Path, reason: str) -> JobError:
    return JobError(f"the job file {path} cannot be read: {reason}", "Repair it, or remove it; it was left as it is.")
