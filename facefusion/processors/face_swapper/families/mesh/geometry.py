"""How the source's proportions change the face."""

from __future__ import annotations

from functools import cache
from typing import cast

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Landmarks478
from facefusion.faces.landmark.points import eye_distance
from facefusion.faces.surface import topology
from facefusion.vision.filters import smooth_step
from facefusion.vision.geometry import fit_similarity, transform_points

Shifts = npt.NDArray[np.float32]
"""Displacement of each vertex in x and y, 468 x 2."""

SMOOTHING_ROUNDS = 12
LARGEST_SHIFT = 0.09
"""Limit of a vertex's displacement, in distances between the outer eye corners."""

_NOTHING = np.empty((0, 0), np.float32)


def proportion_shifts(source: Landmarks478, target: Landmarks478, strength: float) -> Shifts:
    """How the target's vertices move to take on the source's proportions.

    The source's mesh is laid over the target's by the vertices that expressions hardly move. What remains between the
    two is the difference in proportions, plus the difference in expression. Of the latter, eyes and mouth take part
    only by where they lie: they are moved as a whole. The outline of the face is not moved at all, the rest follows
    smoothly, and nothing moves where the surface turns away from the camera.

    Args:
        source: mesh of the source, in any scale and position.
        target: mesh in the pixels that the result is wanted in.
        strength: share of the difference, 0 .. 1.
    """
    rigid = list(topology.RIGID)
    count = topology.VERTEX_COUNT
    laid_over = transform_points(fit_similarity(source[rigid], target[rigid]), source[:count])
    difference = (laid_over - target[:count])[:, :2] * np.float32(strength)
    # Not numpy's product: its BLAS would wake threads of its own for this one, beside those of the pipeline.
    shifts = cast("Shifts", cv2.gemm(spread_of_shifts(), np.ascontiguousarray(difference), 1, _NOTHING, 0))
    longest = np.float32(LARGEST_SHIFT * eye_distance(target))
    lengths = np.hypot(shifts[:, 0], shifts[:, 1])[:, None]
    shifts *= np.minimum(1, longest / np.maximum(lengths, np.float32(1e-6)))
    shifts *= smooth_step(topology.facing(target[:count]), 0.05, 0.45)[:, None]
    for feature in topology.FEATURES:
        shifts[list(feature)] = shifts[list(feature)].mean(axis=0)
    return shifts


def mouth_state(mesh: Landmarks478) -> npt.NDArray[np.float32]:
    """Width, opening and height of the mouth and the span of the cheek folds, in eye distances and weighted."""
    pairs = np.array(((61, 291), (13, 14), (0, 17), (205, 425)))
    lengths = np.linalg.norm(mesh[pairs[:, 0]] - mesh[pairs[:, 1]], axis=1)
    state: npt.NDArray[np.float32] = lengths * np.array((1, 1.2, 0.8, 0.5), np.float32) / eye_distance(mesh)
    return state


def mouth_gap(mesh: Landmarks478) -> float:
    """Opening between the inner lips in the picture's plane, in eye distances."""
    return float(np.hypot(*(mesh[13, :2] - mesh[14, :2]))) / max(eye_distance(mesh), 1e-6)


def eye_openings(mesh: Landmarks478) -> tuple[float, float]:
    """How far each eye (image's left, right) is open: height over width, about 0.3 open and below 0.1 closed."""
    left, right = (
        float(np.linalg.norm(mesh[upper] - mesh[lower]) / max(float(np.linalg.norm(mesh[outer] - mesh[inner])), 1e-6))
        for upper, lower, outer, inner in ((159, 145, 33, 133), (386, 374, 263, 362))
    )
    return left, right


@cache
def spread_of_shifts() -> npt.NDArray[np.float32]:
    """The linear part of :func:`proportion_shifts` as one matrix (468 x 468).

    Features are averaged, the outline is set to nothing, and all other vertices are averaged with their neighbours
    again and again, each time keeping three tenths of their own.
    """
    own = np.eye(topology.VERTEX_COUNT, dtype=np.float32)
    held = np.zeros(topology.VERTEX_COUNT, bool)
    for feature in topology.FEATURES:
        own[list(feature)] = own[list(feature)].mean(axis=0)
        held[list(feature)] = True
    own[list(topology.OVAL)] = 0
    held[list(topology.OVAL)] = True
    free = ~held
    spread = own.copy()
    for _ in range(SMOOTHING_ROUNDS):
        averaged = topology.neighbour_means()[free] @ spread
        spread[free] = np.float32(0.7) * averaged + np.float32(0.3) * own[free]
    spread.flags.writeable = False
    return spread
