"""The examination, part by part. What one part needs and lacks does not keep the others from being looked at."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module

from facefusion.core.errors import FaceFusionError
from facefusion.doctor.examination import NEEDED_TO_LOOK, NEEDED_TO_READ, Examination
from facefusion.doctor.finding import Finding, fault, note

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the examination; its code is imported when it is its turn."""

    topic: str
    module: str
    """Module with a function ``findings(examination) -> Iterator[Finding]``."""
    needs: tuple[str, ...] = ()
    """Modules that it works with, one by one or through others."""


PARTS: tuple[Part, ...] = (
    Part("package", "facefusion.doctor.packages"),
    Part("machine", "facefusion.doctor.machine", needs=("psutil",)),
    Part("device", "facefusion.doctor.devices", needs=NEEDED_TO_LOOK),
    Part("provider", "facefusion.doctor.providers", needs=NEEDED_TO_LOOK),
    Part("decoder", "facefusion.doctor.decoders", needs=(*NEEDED_TO_LOOK, *NEEDED_TO_READ)),
    Part("encoder", "facefusion.doctor.encoders", needs=NEEDED_TO_READ),
    Part("model", "facefusion.doctor.models", needs=("filelock", "psutil")),
    Part("request", "facefusion.doctor.request", needs=NEEDED_TO_READ),
    Part("folder", "facefusion.doctor.folders", needs=("filelock", "psutil")),
    Part("signer", "facefusion.doctor.signing", needs=("c2pa", "cryptography", "filelock", "psutil")),
)


def examine(examination: Examination, parts: Sequence[Part] = PARTS) -> Iterator[Finding]:
    """Look at one part after the other; each finding comes as soon as it is made.

    Args:
        examination: with the settings that a run would have.
        parts: to look at, in order.
    """
    for part in parts:
        lacking = examination.lacking(part.needs)
        if lacking:
            yield note(part.topic, f"not looked at, since {lacking} cannot be imported")
            continue
        try:
            yield from import_module(part.module).findings(examination)
        except FaceFusionError as error:
            yield Finding.of_error(part.topic, error)
        except Exception as error:  # an examination finds faults, and goes on
            logger.debug("%s cannot be looked at", part.topic, exc_info=True)
            text = f"cannot be looked at: {type(error).__name__}: {error}"
            yield fault(part.topic, text, "This is a defect; --log-level debug shows the traceback to report.")
