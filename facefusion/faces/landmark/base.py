"""What a landmarker is, and where it looks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from facefusion.core.errors import InferenceError
from facefusion.core.graph import NO_ANSWER
from facefusion.core.values import Affine, Box, Landmarks5, Landmarks68, Landmarks478, Picture, Pixels
from facefusion.faces.landmark.points import EYE_CORNER_LEFT, EYE_CORNER_RIGHT, FACE_POINTS, five_of_sixty_eight
from facefusion.vision.geometry import SquareRegion, angle_between, lie_apart, square_around

EXPANSION = 1.5
"""Side of the region a landmarker looks at over the longer side of the face."""


class MeshReading(NamedTuple):
    """What one look gave."""

    mesh: Landmarks478
    """In frame coordinates."""
    presence: float
    """Probability, 0..1, that a face lies under the mesh."""
    crop: Pixels
    """What the network looked at: the region, upright, at the network's size."""
    frame_to_crop: Affine


class FaceLandmarker(Protocol):
    """Reads the mesh of one face. Thread-safe as long as the picture is."""

    def read(self, picture: Picture, region: SquareRegion) -> MeshReading:
        """Read the mesh of the face that fills about two thirds of ``region``, its eyes level there."""


class Outline(NamedTuple):
    """The 68 points of one face."""

    points: Landmarks68
    """In pixels of the crop that was looked at."""
    confidence: float
    """0..1."""


def outline(model: str, points: Landmarks68, confidence: float) -> Outline:
    """The points of one face as a network gave them.

    Args:
        model: its name, for the message.
        points: in pixels of the crop.
        confidence: clipped to 0..1; where it is 0, the points may be any.

    Raises:
        InferenceError: they can be no face's.
    """
    sure = min(max(confidence, 0.0), 1.0)
    if sure > 0:
        check_face(model, points)
    return Outline(points, sure)


class OutlineReader(Protocol):
    """Reads the 68 points of faces. Thread-safe."""

    def read(self, crops: Sequence[npt.NDArray[np.uint8]]) -> list[Outline]:
        """Read the points of several faces.

        Args:
            crops: one or more, as :func:`facefusion.faces.landmark.upright.upright_crop` gives them.
        """


def check_face(model: str, points: Landmarks68, mesh: Landmarks478 | None = None) -> None:
    """Refuse points that no face can have.

    Args:
        model: what gave them, for the message.
        points: in any unit.
        mesh: all points that came with them.

    Raises:
        InferenceError: they are no numbers, as where a place is too far off to be counted, or eyes, nose and mouth lie
            on one spot.
    """
    numbers = points if mesh is None else mesh
    if not (np.isfinite(numbers).all() and lie_apart(five_of_sixty_eight(points))):
        raise InferenceError(f"{model} laid the points of a face on one spot, or nowhere", NO_ANSWER)


def region_of_detection(box: Box, points: Landmarks5) -> SquareRegion:
    """Where to look for the mesh of a face just detected."""
    left, top, right, bottom = (float(edge) for edge in box)
    side = max(right - left, bottom - top) * EXPANSION
    return SquareRegion((left + right) / 2, (top + bottom) / 2, side, angle_between(points[0], points[1]))


def region_of_mesh(mesh: Landmarks478) -> SquareRegion:
    """Where to look for the mesh of a face whose mesh is roughly known: from a first pass, or the frame before."""
    angle = angle_between(mesh[EYE_CORNER_LEFT], mesh[EYE_CORNER_RIGHT])
    return square_around(mesh[:FACE_POINTS, :2], angle, EXPANSION)
