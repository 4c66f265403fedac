"""Steadying a mesh over time without making it late.

The One-Euro filter: G. Casiez, N. Roussel, D. Vogel, "1 Euro Filter: A Simple Speed-based Low-pass Filter for Noisy
Input in Interactive Systems", CHI 2012. A low-pass whose cut-off rises with speed: a face at rest is held still, one
that moves is followed.
"""

from __future__ import annotations

import math

import numpy as np

from facefusion.core.values import Landmarks478
from facefusion.faces.landmark.points import eye_distance

REST_CUTOFF = 1.5
"""Hz, for a point at rest."""
SPEED_GAIN = 6.0
"""Hz more per eye distance a second."""
SPEED_CUTOFF = 1.0
"""Hz, of the low-pass on the speeds themselves."""
JUMP = 1.0
"""Eye distances between frames from which a new position is no motion but another place."""
GAP = 0.5
"""Seconds without a reading after which what was known is stale."""


class MeshSmoother:
    """One face's filter. Speeds are counted in eye distances, so a face behaves alike at any size."""

    def __init__(self) -> None:
        self._time = 0.0
        self._mesh: Landmarks478 | None = None
        self._velocity: Landmarks478 | None = None

    def reset(self) -> None:
        """Forget everything: the next mesh is taken as it is."""
        self._mesh = None

    def smooth(self, mesh: Landmarks478, time: float) -> Landmarks478:
        """The steadied mesh.

        The cut-off of a point follows the greater of its own speed and the median speed, so that the head moves as one
        piece and lips and lids stay quick. The first mesh, one after a gap, and one elsewhere are passed through.

        Args:
            mesh: as read, frame coordinates. Not kept, not changed.
            time: of its frame, in seconds. Steps may vary.
        """
        step = time - self._time
        size = eye_distance(mesh)
        self._time = time
        if self._mesh is None or self._velocity is None or not 0.0 < step <= GAP or not size > 0.0:
            return self._start(mesh)
        moved = mesh - self._mesh
        if float(np.median(np.hypot(moved[:, 0], moved[:, 1]))) > JUMP * size:
            return self._start(mesh)
        self._velocity += np.float32(_share(SPEED_CUTOFF, step)) * (moved / np.float32(step * size) - self._velocity)
        speed = np.hypot(self._velocity[:, 0], self._velocity[:, 1])
        cutoff = REST_CUTOFF + SPEED_GAIN * np.maximum(speed, np.median(speed))
        ratio = np.float32(2.0 * math.pi * step) * cutoff
        self._mesh += moved * (ratio / (1.0 + ratio))[:, None]
        return self._mesh.copy()

    def _start(self, mesh: Landmarks478) -> Landmarks478:
        self._mesh = mesh.copy()
        self._velocity = np.zeros_like(mesh)
        return mesh.copy()


def _share(cutoff: float, step: float) -> float:
    """How much of the new value a first-order low-pass of ``cutoff`` Hz takes after ``step`` seconds."""
    ratio = 2.0 * math.pi * cutoff * step
    return ratio / (1.0 + ratio)
