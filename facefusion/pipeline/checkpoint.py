"""What is known once the last frame of a segment was followed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self, cast

from facefusion.media.damage import Damage
from facefusion.media.reader import Anchor


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """All that a run needs to go on behind a segment."""

    origin: Fraction
    """Time of the first frame that is worked on."""
    end: Fraction
    """When the segment's last frame ends."""
    anchor: Anchor | None
    """Where a run that makes the next segment begins to read; none where no frame follows."""
    content: Mapping[str, object]
    """State of the content filter."""
    damage: Damage
    """Found since the target's beginning."""
    dropped: int
    """Frames of the segment that the result does not show."""

    def to_json(self) -> Mapping[str, object]:
        """Everything, fit for JSON."""
        anchor = self.anchor
        return {
            "origin": str(self.origin),
            "end": str(self.end),
            "anchor": None
            if anchor is None
            else {"index": anchor.index, "time": str(anchor.time), "checksum": anchor.checksum},
            "content": dict(self.content),
            "damage": asdict(self.damage),
            "dropped": self.dropped,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """What :meth:`to_json` gave; other fields are passed over.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        fields = cast("Mapping[str, Any]", data)
        anchor = fields["anchor"]
        return cls(
            origin=Fraction(fields["origin"]),
            end=Fraction(fields["end"]),
            anchor=None
            if anchor is None
            else Anchor(int(anchor["index"]), Fraction(anchor["time"]), int(anchor["checksum"])),
            content=fields["content"],
            damage=Damage(**fields["damage"]),
            dropped=int(fields["dropped"]),
        )
