"""The size that the user asks of a result."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from facefusion.core.values import Size

if TYPE_CHECKING:
    from facefusion.media.probe import MediaInfo

SLACK = 2
"""Pixels by which a resolution of the target's proportions may be rounded."""


@dataclass(frozen=True, slots=True)
class OutputSize:
    """What is asked for; nothing where both are none."""

    scale: float | None = None
    """Factor on both sides of the target as it is shown. 1 is exactly the target's size."""
    resolution: Size | None = None
    """Exactly this."""
    multiple: int = 1
    """Of which scaled sides are multiples."""

    def of(self, info: MediaInfo) -> Size | None:
        """The size of the result of a target; none where it is the one that the processors give.

        A video that a tag turns may be told by its size as stored: FaceFusion up to 3.3 wrote that into job files.
        """
        shown = info.size
        if self.resolution is not None:
            return shown if info.orientation.transpose and self.resolution == info.coded_size else self.resolution
        if self.scale is None:
            return None
        return shown if self.scale == 1 else Size(self._scaled(shown.width), self._scaled(shown.height))

    def sample_aspect(self, info: MediaInfo) -> Fraction:
        """Width over height of one pixel of the result.

        Scaled pixels keep the shape of the target's. A resolution is one of square pixels, unless it has the
        proportions of the stored picture.
        """
        wanted, shown = self.resolution, info.size
        if wanted is None or abs(wanted.width - Fraction(wanted.height * shown.width, shown.height)) <= SLACK:
            return info.sample_aspect
        return Fraction(1)

    def _scaled(self, side: int) -> int:
        """FaceFusion's rule: cut to whole pixels, then to the nearest multiple; what lies between two, to the even one.

        A factor such as 0.29 is meant as it is written, not as the next binary fraction.
        """
        exact = int(side * Fraction(str(self.scale)))
        return max(round(Fraction(exact, self.multiple)), 1) * self.multiple
