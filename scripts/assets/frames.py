"""Frames of reference: local axes on a face, and smooth arcs within them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Points: TypeAlias = npt.NDArray[np.float64]
"""Shape (n, 2): x and y."""

Values: TypeAlias = npt.NDArray[np.float64]
"""One number per point."""


def smoothstep(values: Values, low: float, high: float) -> Values:
    """0 up to ``low``, 1 from ``high`` on, an S-curve with level ends between. ``low`` may lie above ``high``."""
    share = np.clip((values - low) / (high - low), 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)


@dataclass(frozen=True, slots=True)
class Axes:
    """Local axes on a face: ``along`` runs from the left corner to the right one, ``down`` is square to it."""

    origin: Points
    """Shape (2,): middle between the corners."""
    along: Points
    """Shape (2,), unit length."""
    half: float
    """Half the distance of the corners, in pixels."""

    @classmethod
    def between(cls, left: Points, right: Points) -> Axes:
        """The axes whose corners are ``left`` and ``right``, each of shape (2,)."""
        span = right - left
        length = float(np.hypot(span[0], span[1]))
        return cls(origin=(left + right) / 2.0, along=span / length, half=length / 2.0)

    def to_local(self, points: Points) -> tuple[Values, Values]:
        """How far ``points`` lie along and down, in pixels."""
        offset = points - self.origin
        along, down = self.along, self._down
        return offset[:, 0] * along[0] + offset[:, 1] * along[1], offset[:, 0] * down[0] + offset[:, 1] * down[1]

    def to_points(self, along: Values, down: Values) -> Points:
        """The inverse of :meth:`to_local`."""
        return self.origin + along[:, None] * self.along + down[:, None] * self._down

    @property
    def _down(self) -> Points:
        return np.array([-self.along[1], self.along[0]])


@dataclass(frozen=True, slots=True)
class Arc:
    """A smooth curve over the span between two corners, exactly 0 at them and beyond."""

    half: float
    """Half the span in pixels."""
    coefficients: Values
    """Of the polynomial that the parabola 1 - t^2 is multiplied with, constant term first."""

    @classmethod
    def fit(cls, axes: Axes, points: Points, degree: int = 2) -> Arc:
        """The arc nearest to ``points`` in the least-squares sense."""
        along, down = axes.to_local(points)
        place = along / axes.half
        parabola = 1.0 - place**2
        basis = parabola[:, None] * np.vander(place, degree + 1, increasing=True)
        coefficients, *_ = np.linalg.lstsq(basis, down, rcond=None)
        return cls(half=axes.half, coefficients=np.asarray(coefficients, np.float64))

    def __call__(self, along: Values) -> Values:
        """How far down the curve lies at each ``along``, in pixels."""
        place = np.clip(along / self.half, -1.0, 1.0)
        shape = np.polynomial.polynomial.polyval(place, self.coefficients)
        return np.asarray((1.0 - place**2) * shape, np.float64)
