"""What went wrong while a video was read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any


@dataclass(slots=True)
class Damage:
    """Counts of what was mended or is missing; all zero for a sound file."""

    lost: int = 0
    """Frames that could not be decoded; the frame before each is shown longer."""
    frames: int = 0
    """Frames that the decoder marks as patched up."""
    times: int = 0
    """Frames without a usable time, which were put between their neighbours or at the usual rate."""
    jumps: int = 0
    """Places where the clock jumps back; what follows is shown right after what came before."""
    interlaced: int = 0
    """Interlaced frames in a file that begins without any; they were deinterlaced."""
    reached: int = 0
    """Frames that were read, where the file ended early."""
    ended_early: bool = False
    """The data broke off before what the header promises."""
    differs: bool = False
    """The frame at which a run went on did not decode as it did before."""

    def plus(self, other: Damage) -> Damage:
        """What both say together."""
        return self._joined(other, lambda one, another: one + another)

    def since(self, earlier: Damage) -> Damage:
        """What has come since ``earlier``, which is part of this."""
        return self._joined(earlier, lambda one, another: one - another)

    def _joined(self, other: Damage, rule: Callable[[int, int], int]) -> Damage:
        values: dict[str, Any] = {}
        for field in fields(self):
            value = rule(getattr(self, field.name), getattr(other, field.name))
            values[field.name] = bool(value) if isinstance(field.default, bool) else value
        return Damage(**values)

    @property
    def notice(self) -> str | None:
        """What to tell the user; none for a sound file."""
        parts = []
        if self.lost:
            parts.append(f"{self.lost} frames could not be decoded, the ones before them are shown longer")
        if self.frames:
            parts.append(f"{self.frames} frames are damaged and were patched up by the decoder")
        if self.times:
            parts.append(
                f"{self.times} frames have no usable time and were put between their neighbours or at the usual rate"
            )
        if self.jumps:
            parts.append(f"its clock jumps back {self.jumps} times, what follows is shown right after what came before")
        if self.interlaced:
            parts.append(f"{self.interlaced} frames within are interlaced and were deinterlaced")
        if self.ended_early:
            parts.append(f"the file breaks off at frame {self.reached}, before the end that its header promises")
        if self.differs:
            parts.append("the frame at which this run went on decodes otherwise than before")
        return "; ".join(parts) if parts else None
