"""What was found out about one thing of this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from facefusion.core.errors import FaceFusionError


class Level(Enum):
    """How it bears on the work."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing, and nothing wrong."""
    WARNING = "warning"
    """Something works less well than it could."""
    FAULT = "fault"
    """A run with these settings cannot work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report."""

    level: Level
    topic: str
    """One word: what it is about."""
    text: str
    """What was found. No trailing full stop."""
    remedy: str = ""
    """What to do about it, as a sentence; empty where there is nothing to do."""

    @classmethod
    def of_error(cls, topic: str, error: FaceFusionError, level: Level = Level.FAULT) -> Finding:
        """The finding that an error of the program's own amounts to."""
        return cls(level, topic, error.fault, error.remedy)


def ok(topic: str, text: str) -> Finding:
    """Something that is as it should be."""
    return Finding(Level.OK, topic, text)


def note(topic: str, text: str, remedy: str = "") -> Finding:
    """Something worth knowing."""
    return Finding(Level.NOTE, topic, text, remedy)


def warning(topic: str, text: str, remedy: str = "") -> Finding:
    """Something that works less well than it could."""
    return Finding(Level.WARNING, topic, text, remedy)


def fault(topic: str, text: str, remedy: str = "") -> Finding:
    """Something that keeps a run from working."""
    return Finding(Level.FAULT, topic, text, remedy)


def is_faulty(findings: Iterable[Finding]) -> bool:
    """Whether any of them keeps a run from working."""
    return any(finding.level is Level.FAULT for finding in findings)
