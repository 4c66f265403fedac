"""The examination, part by part. What one part needs and lacks does not keep the others from being looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module

from facefusion.core.errors import FaceFusionError
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Finding, fault


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the examination; its code is imported when it is its turn, and that may be what fails."""

    topic: str
    module: str
    """Module with a function ``findings(examination) -> Iterator[Finding]``."""


PARTS: tuple[Part, ...] = (
    Part("package", "facefusion.doctor.packages"),
    Part("machine", "facefusion.doctor.machine"),
    Part("device", "facefusion.doctor.devices"),
    Part("provider", "facefusion.doctor.providers"),
    Part("encoder", "facefusion.doctor.encoders"),
    Part("model", "facefusion.doctor.models"),
    Part("folder", "facefusion.doctor.folders"),
)


def examine(examination: Examination, parts: Sequence[Part] = PARTS) -> Iterator[Finding]:
    """Look at one part after the other; each finding comes as soon as it is made.

    Args:
        examination: with the settings that a run would have.
        parts: to look at, in order.
    """
    for part in parts:
        try:
            yield from import_module(part.module).findings(examination)
        except FaceFusionError as error:
            yield Finding.of_error(part.topic, error)
        except ImportError as error:
            yield fault(part.topic, f"cannot be looked at: {error}", "Mend the packages first.")
        except Exception as error:  # noqa: BLE001 - an examination finds faults, and goes on
            text = f"cannot be looked at: {type(error).__name__}: {error}"
            yield fault(part.topic, text, "--log-level debug shows more.")
