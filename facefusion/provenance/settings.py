"""What results say of themselves."""

from __future__ import annotations

from facefusion.config.option import option, settings_group
from facefusion.provenance.records import Marking


@settings_group(section="trust")
class MarkingSettings:
    """How much a result says of how it was made."""

    marking: str = option(
        Marking.FULL.value,
        "what results say of themselves: 'metadata' is how they came to be, in the words of the IPTC, 'full' is that "
        "and a signed C2PA manifest; the report says where they say nothing; see docs/trust.md",
        choices=tuple(mode.value for mode in Marking),
        own=True,
    )

    @property
    def mode(self) -> Marking:
        """The same, as a value of its own."""
        return Marking(self.marking)
