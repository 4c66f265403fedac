"""What the 478-point face mesh is made of: triangles, texture coordinates and named groups of vertices.

Vertex numbers are those of MediaPipe's canonical face model. Left and right are the image's, as in a portrait that
looks at the camera.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Landmarks478
from facefusion.faces.landmark.points import FACE_OVAL, FACE_POINTS
from facefusion.vision.raster import Indices, Triangles

ArrayT = TypeVar("ArrayT", npt.NDArray[np.float32], npt.NDArray[np.int32])

VERTEX_COUNT = FACE_POINTS
"""Vertices of the surface; the ten points after them are the irises."""

OVAL = tuple(FACE_OVAL.tolist())
UPPER_INNER_LIP = (78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308)
LOWER_INNER_LIP = (78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308)
INNER_LIP = (*UPPER_INNER_LIP, *LOWER_INNER_LIP[-2:0:-1])
OUTER_LIP = (61, 185, 40, 39, 37, 0, 267, 269, 270, 409, 291, 375, 321, 405, 314, 17, 84, 181, 91, 146)
LEFT_EYE = (33, 246, 161, 160, 159, 158, 157, 173, 133, 155, 154, 153, 145, 144, 163, 7)
RIGHT_EYE = (263, 466, 388, 387, 386, 385, 384, 398, 362, 382, 381, 380, 374, 373, 390, 249)
LEFT_BROW = (70, 63, 105, 66, 107, 55, 65, 52, 53, 46)
RIGHT_BROW = (300, 293, 334, 296, 336, 285, 295, 282, 283, 276)
NOSTRILS = (98, 327, 2, 97, 326, 60, 290, 20, 250, 238, 458)
NOSE = (8, 193, 417, 129, 358, 98, 327, 2)
"""Outline of the nose from between the brows to the wings."""
MOUTH_SURROUNDINGS = (205, 425, 50, 280, 212, 432, 202, 422, 200, 2, 164, 36, 266, 214, 434, 204, 424)
"""Cheek folds and chin: skin that moves with the mouth."""
CHIN = (83, 313, 201, 421, 208, 428, 199, 175)
UPPER_LIP_SKIN = (164, 167, 393, 165, 391, 92, 322)
"""Where a moustache grows."""
LEFT_EAR_SIDE = (127, 93, 132, 215, 192, 111, 143)
RIGHT_EAR_SIDE = (356, 323, 361, 435, 416, 340, 372)
"""Where the mesh ends in front of the ears."""
NOSE_TIP = (1, 4, 5)

RIGID = (
    *(168, 6, 197, 195, 5, 4, 1, 33, 133, 362, 263, 127, 356, 234, 454, 10, 151, 9, 8, 54, 284, 103, 332, 67, 297),
    *(109, 338, 21, 251, 93, 323, 132, 361, 50, 280, 101, 330, 36, 266),
)
"""Vertices that expressions hardly move; a face is aligned to another by these."""

_LEFT_LIDS = (130, 247, 30, 29, 27, 28, 56, 190, 243, 112, 26, 22, 23, 24, 110, 25)
_RIGHT_LIDS = (359, 467, 260, 259, 257, 258, 286, 414, 463, 341, 256, 252, 253, 254, 339, 255)
_LIP_RINGS = (
    *(76, 77, 90, 180, 85, 16, 315, 404, 320, 307, 306, 184, 74, 73, 72, 11, 302, 303, 304, 408),
    *(62, 96, 89, 179, 86, 15, 316, 403, 319, 325, 292, 183, 42, 41, 38, 12, 268, 271, 272, 407),
)
FEATURES = ((*LEFT_EYE, *_LEFT_LIDS), (*RIGHT_EYE, *_RIGHT_LIDS), (*INNER_LIP, *OUTER_LIP, *_LIP_RINGS))
"""Features that are moved as a whole, so that they stay as open and as bent as the target's."""


@cache
def texture_coordinates() -> npt.NDArray[np.float32]:
    """Place of each vertex in the unwrapped face: 468 x 2, 0 .. 1, u to the right, v down; u -> 1 - u mirrors it."""
    return _frozen(np.array(_table()["uv"], np.float32))


@cache
def triangles() -> Triangles:
    """The 880 triangles of the surface, all wound alike; the eyes are closed, the mouth is a hole."""
    return _frozen(np.array(_table()["triangles"], np.int32))


@cache
def mouth_triangles() -> Triangles:
    """Triangles that close the mouth, between the two inner lips."""
    strip = []
    for place in range(len(UPPER_INNER_LIP) - 1):
        upper, next_upper = UPPER_INNER_LIP[place : place + 2]
        lower, next_lower = LOWER_INNER_LIP[place : place + 2]
        strip += [(upper, lower, next_upper), (next_upper, lower, next_lower)]
    corners = np.array([corner for corner in strip if len(set(corner)) == 3], np.int32)
    return _frozen(corners)


def far_to_near(mesh: Landmarks478) -> Indices:
    """Indices of :func:`triangles`, the farthest first, so that nearer ones are drawn over it."""
    depth = mesh[:, 2][triangles()].sum(axis=1)
    return np.argsort(-depth, kind="stable").astype(np.int32)


def facing(mesh: Landmarks478) -> npt.NDArray[np.float32]:
    """How much the surface looks at the camera at each vertex: 1 straight, 0 sideways, below 0 away. Shape (468,)."""
    corners = mesh[triangles()]
    one, two = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    normals = np.stack(
        (
            one[:, 1] * two[:, 2] - one[:, 2] * two[:, 1],
            one[:, 2] * two[:, 0] - one[:, 0] * two[:, 2],
            one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0],
        ),
        axis=1,
    )
    padded = np.concatenate((normals, np.zeros((1, 3), np.float32)))
    summed = padded[_triangles_around()].sum(axis=1)
    towards: npt.NDArray[np.float32] = summed[:, 2] / (np.linalg.norm(summed, axis=1) + np.float32(1e-9))
    # The table winds its triangles so that a face looking at the camera has negative areas in pixels (y down).
    return -towards if towards[list(NOSE_TIP)].mean() < 0 else towards


@cache
def neighbour_means() -> npt.NDArray[np.float32]:
    """Matrix (468 x 468) that replaces each vertex by the mean of its neighbours."""
    adjacent = np.zeros((VERTEX_COUNT, VERTEX_COUNT), np.float32)
    for start, end in ((0, 1), (1, 2), (2, 0)):
        adjacent[triangles()[:, start], triangles()[:, end]] = 1
        adjacent[triangles()[:, end], triangles()[:, start]] = 1
    return _frozen(adjacent / np.maximum(adjacent.sum(axis=1, keepdims=True), 1))


@cache
def _triangles_around() -> npt.NDArray[np.int32]:
    """Indices of the triangles around each vertex, filled up with the number of triangles. One row per vertex."""
    around: list[list[int]] = [[] for _ in range(VERTEX_COUNT)]
    for number, corners in enumerate(triangles().tolist()):
        for corner in corners:
            around[corner].append(number)
    most = max(len(numbers) for numbers in around)
    filler = len(triangles())
    return _frozen(np.array([numbers + [filler] * (most - len(numbers)) for numbers in around], np.int32))


@cache
def _table() -> dict[str, list[list[float]]]:
    text = resources.files(__package__).joinpath("face_mesh_topology.json").read_text(encoding="utf-8")
    table: dict[str, list[list[float]]] = json.loads(text)
    return table


def _frozen(array: ArrayT) -> ArrayT:
    array.flags.writeable = False
    return array
