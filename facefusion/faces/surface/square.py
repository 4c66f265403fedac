"""Where a face lies in the frame."""

from __future__ import annotations

from facefusion.core.values import Landmarks478
from facefusion.faces.landmark.points import EYE_CORNER_LEFT, EYE_CORNER_RIGHT
from facefusion.faces.surface import topology
from facefusion.vision.geometry import SquareRegion, angle_between, square_around

CROP_MARGIN = 1.3
"""Side of the square over the larger extent of the mesh."""


def face_square(mesh: Landmarks478) -> SquareRegion:
    """The square around a face, upright on the line between the outer eye corners."""
    angle = angle_between(mesh[EYE_CORNER_LEFT, :2], mesh[EYE_CORNER_RIGHT, :2])
    return square_around(mesh[: topology.VERTEX_COUNT, :2], angle, CROP_MARGIN)
