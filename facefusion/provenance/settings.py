"""What results say of themselves."""

from __future__ import annotations

from pathlib import Path

from facefusion.config.option import STEP_COMMANDS, Scope, option, settings_group
from facefusion.provenance.records import Marking

TEXT = "text"
JSON = "json"


@settings_group(section="trust")
class MarkingSettings:
    """How much a result says of how it was made."""

    marking: str = option(
        Marking.FULL.value,
        "what results say of themselves: 'metadata' is how they came to be, in the words of the IPTC, 'full' is that "
        "and a signed C2PA manifest; the report says where they say nothing; see docs/trust.md",
        choices=tuple(mode.value for mode in Marking),
        commands=(*STEP_COMMANDS, "worker", "doctor"),  # a worker is told what it has to be able to do
        own=True,
    )

    @property
    def mode(self) -> Marking:
        """The same, as a value of its own."""
        return Marking(self.marking)


@settings_group(section="trust", commands=("detect", "verify"))
class CheckSettings:
    """How files are checked."""

    check_format: str = option(
        TEXT,
        "how to report: lines for people, or one JSON document for programs",
        choices=(TEXT, JSON),
        scope=Scope.RUN,
        in_ini=False,
        own=True,
    )
    trust_anchors: Path | None = option(
        None,
        "PEM file of the authorities to trust; every signer is unknown where none is named",
        scope=Scope.RUN,
        metavar="FILE",
        own=True,
    )
