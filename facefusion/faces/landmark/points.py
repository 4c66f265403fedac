"""Which points of the 478-point mesh are what.

Numbers of the MediaPipe face mesh: 0..467 the face, 468..472 the iris of the eye on the image's left (middle first),
473..477 the other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Face, Landmarks5, Landmarks68, Landmarks478

FACE_POINTS = 468
EYE_CORNER_LEFT = 33
"""Outer corner of the eye on the image's left."""
EYE_CORNER_RIGHT = 263
FIVE = np.array((468, 473, 1, 61, 291))
"""Irises, nose tip and mouth corners: a :data:`~facefusion.core.values.Landmarks5`."""

SIXTY_EIGHT = np.array(
    (
        *(162, 234, 93, 58, 172, 136, 149, 148, 152, 377, 378, 365, 397, 288, 323, 454, 389),  # jaw
        *(71, 63, 105, 66, 107, 336, 296, 334, 293, 301),  # brows
        *(168, 197, 5, 4, 75, 97, 2, 326, 305),  # nose
        *(33, 160, 158, 133, 153, 144, 362, 385, 387, 263, 373, 380),  # eyes
        *(61, 39, 37, 0, 267, 269, 291, 405, 314, 17, 84, 181),  # outer lips
        *(78, 82, 13, 312, 308, 317, 14, 87),  # inner lips
    )
)
"""The 68 points of the iBUG 300-W scheme, in its order."""

FACE_OVAL = np.array(
    (
        *(10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377),
        *(152, 148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109),
    )
)
"""The outline of the face, from the top of the forehead clockwise in the image."""


def five_points(mesh: Landmarks478) -> Landmarks5:
    """Irises, nose tip and mouth corners of a mesh."""
    return mesh[FIVE, :2]


def sixty_eight_points(mesh: Landmarks478) -> npt.NDArray[np.float32]:
    """The (68, 2) points that 68-point models expect."""
    return mesh[SIXTY_EIGHT, :2]


def aligned_points(face: Face) -> Landmarks5:
    """The five points that templates are fitted to: middles of the eyes, nose tip, corners of the mouth.

    They come from the 68 points of the face where it has some, from those of its mesh otherwise, and are the
    detector's where it has neither.
    """
    points = outline_points(face)
    return face.landmarks5 if points is None else five_of_sixty_eight(points)


def outline_points(face: Face) -> Landmarks68 | None:
    """The 68 points of a face: its own, else those of its mesh; none where it has neither."""
    if face.landmarks68 is None and face.mesh is not None:
        return sixty_eight_points(face.mesh)
    return face.landmarks68


def five_of_sixty_eight(points: Landmarks68) -> Landmarks5:
    """Middles of the eyes, nose tip, corners of the mouth, as FaceFusion takes them from 68 points."""
    five = np.empty((5, 2), np.float32)
    five[0], five[1] = points[36:42].mean(axis=0), points[42:48].mean(axis=0)
    five[2:] = points[[30, 48, 54]]
    return five


def eye_distance(mesh: Landmarks478) -> float:
    """Distance between the outer eye corners, in pixels: the measure of a face's size."""
    return float(np.hypot(*(mesh[EYE_CORNER_RIGHT, :2] - mesh[EYE_CORNER_LEFT, :2])))
