"""The packages that the lists of requirements pin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]

PLAIN, SERVICE, CARD = "requirements.txt", "requirements-service.txt", "requirements-cuda.txt"
WATERMARK = "requirements-watermark.txt"
RUNTIME = {PLAIN: "every run", SERVICE: "the service", CARD: "an NVIDIA card", WATERMARK: "a watermark"}
"""Lists of what the program needs to run, and what each is for."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One package in one version."""

    name: str
    """As the list writes it."""
    version: str
    line: str
    """As pip takes it, with its marker."""

    @property
    def key(self) -> str:
        """The name in the one way that all spellings of it come to."""
        return canonicalize_name(self.name)

    def applies(self, platform: str, machine: str, python: str) -> bool:
        """Whether the package is needed on a system; see PEP 508 for what the words are."""
        marker = Requirement(self.line).marker
        environment = {"sys_platform": platform, "platform_machine": machine, "python_version": python}
        return marker is None or marker.evaluate(environment)


def pins(name: str) -> list[Pin]:
    """The packages that one list pins, without those of lists that it takes in."""
    return list(_pins((ROOT / name).read_text(encoding="utf-8")))


def _pins(text: str) -> Iterator[Pin]:
    for line in text.splitlines():
        words = line.partition("#")[0].strip()
        if words and not words.startswith("-"):
            found = Requirement(words)
            (exact,) = found.specifier
            yield Pin(found.name, exact.version, words)
