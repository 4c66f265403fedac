"""Where a value came from, so that an error can say where to look."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Source(Enum):
    """The sources of values; a later one overrides an earlier one."""

    DEFAULT = "default"
    INI = "ini file"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"
    JOB = "job file"
    AUTO_TUNE = "auto-tune"
    """Set to suit this machine, since nobody asked for anything else."""
    PROGRAM = "program"
    """Set by the program for a purpose of its own, as the benchmark does."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of one value, with the place in it."""

    source: Source
    place: str = ""
    """``file:line`` of an ini file, ``the environment``, the step of a job; empty elsewhere."""

    @property
    def given(self) -> bool:
        """Whether somebody chose the value; false for a default."""
        return self.source is not Source.DEFAULT

    def __str__(self) -> str:
        if self.source is Source.DEFAULT:
            return "default"
        return f"from {self.place or self.source.value}"


DEFAULT = Origin(Source.DEFAULT)
COMMAND_LINE = Origin(Source.COMMAND_LINE)
AUTO_TUNE = Origin(Source.AUTO_TUNE)
PROGRAM = Origin(Source.PROGRAM)
