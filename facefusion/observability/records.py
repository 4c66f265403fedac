"""What the program says, one record at a time, and the forms in which it is shown or kept.

A record is one of the standard library's. What a person at the terminal is told, in the program's own words, is a
*spoken* record: in text it stands there as it is, where what a module logs is preceded by the module's name.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import cast

from facefusion.core.wording import printable
from facefusion.observability.context import work_at_hand

LEVELS = MappingProxyType(
    {"error": logging.ERROR, "warn": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
)
"""The values of ``--log-level``, from the quietest."""
PACKAGE = "facefusion"

_TIME = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
_LEVEL = b"|".join(level.encode() for level in LEVELS)
BEGINNING = re.compile(
    rb'%(time)b \d+ (?:%(level)b) *\S+:|\{"time": "%(time)b", "level": "(?:%(level)b)", "module": '
    % {b"time": _TIME, b"level": _LEVEL}
)
"""How the first record of a log file begins, in either form."""

_MARKS = {logging.ERROR: "error: ", logging.WARNING: "warning: "}
_FIELDS = "facefusion_fields"
_MARK = "facefusion_mark"
_LINES = "facefusion_lines"


def spoken_record(
    message: str | Iterable[str],
    level: str = "info",
    *,
    module: str = "cli",
    marked: bool = True,
    failure: BaseException | None = None,
    fields: Mapping[str, object] = MappingProxyType({}),
) -> logging.LogRecord:
    """A record of something that is said to the user.

    Args:
        message: one line, whatever breaks and controls it holds; or several, each by itself.
        level: a key of :data:`LEVELS`.
        module: the part of the program that says it.
        marked: whether text says that a warning or an error is one.
        failure: whose traceback goes with it.
        fields: what the message tells, as values of JSON.
    """
    number = LEVELS[level]
    lines = (message,) if isinstance(message, str) else tuple(message)
    trace = None if failure is None else (type(failure), failure, failure.__traceback__)
    record = logging.LogRecord(f"{PACKAGE}.{module}", number, "", 0, "\n".join(lines), (), trace)
    setattr(record, _LINES, lines)
    setattr(record, _FIELDS, fields)
    setattr(record, _MARK, _MARKS.get(number, "") if marked else "")
    return record


class TextFormatter(logging.Formatter):
    """For people at a terminal: what is spoken as it is, what is logged as ``[FACEFUSION.MODULE] text``.

    A traceback stands above what a record says, so that the last line is the one to read. What a name of a file holds
    does nothing to the terminal: see :func:`~facefusion.core.wording.printable`.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record's text, without a line feed at its end."""
        trace = [printable(line) for line in _traceback_of(self, record).splitlines()]
        first, *more = _lines_of(record)
        return "\n".join([*trace, f"{_mark_of(record)}{first}", *more])


class StampedFormatter(logging.Formatter):
    """For a log file: each line with the time in UTC, the process, the level and the module."""

    def format(self, record: logging.LogRecord) -> str:
        """The record's lines, without a line feed at the end."""
        trace = [printable(line) for line in _traceback_of(self, record).splitlines()]
        stamp = f"{time_of(record)} {record.process} {level_of(record):5} {_module_of(record)}:"
        return "\n".join(f"{stamp} {line}".rstrip() for line in (*trace, *_lines_of(record)))


class JsonFormatter(logging.Formatter):
    """For machines: one object on one line, in ASCII.

    Its keys are ``time`` (ISO 8601, UTC), ``level``, ``module``, ``process``, ``message``, what is worked on
    (:mod:`facefusion.observability.context`), the fields of what happened, and ``traceback`` where there is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        document: dict[str, object] = {
            "time": time_of(record),
            "level": level_of(record),
            "module": _module_of(record),
            "process": record.process,
            "message": record.getMessage(),
            **work_at_hand(),
            **cast("Mapping[str, object]", getattr(record, _FIELDS, {})),
        }
        if trace := _traceback_of(self, record):
            document["traceback"] = trace
        return json.dumps(document, default=str)


def time_of(record: logging.LogRecord) -> str:
    """When it was said: ``2026-11-30T10:05:36.123Z``."""
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def level_of(record: logging.LogRecord) -> str:
    """The level in the words of ``--log-level``."""
    return next((name for name, number in LEVELS.items() if record.levelno >= number), "debug")


def _mark_of(record: logging.LogRecord) -> str:
    mark = getattr(record, _MARK, None)
    return f"[FACEFUSION.{record.name.rpartition('.')[2].upper()}] " if mark is None else cast("str", mark)


def _lines_of(record: logging.LogRecord) -> Iterator[str]:
    """The lines of a message, at least one. What is logged has them where its text breaks."""
    lines = cast("tuple[str, ...]", getattr(record, _LINES, None) or record.getMessage().splitlines() or ("",))
    return map(printable, lines)


def _module_of(record: logging.LogRecord) -> str:
    return record.name.removeprefix(f"{PACKAGE}.")


def _traceback_of(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return "" if not record.exc_info or record.exc_info[0] is None else formatter.formatException(record.exc_info)
