"""The forehead between the upper end of the mesh and the hair, which no vertex marks."""

from __future__ import annotations

import cv2
import numpy as np

from facefusion.core.values import Landmarks478, Pixels
from facefusion.faces.surface.hair import SkinColour, strangeness
from facefusion.faces.surface.tone import to_lab
from facefusion.vision.filters import Map, Marks, blur, grow_within, smooth_step

ARC = (21, 54, 103, 67, 109, 10, 338, 297, 332, 284, 251)
"""The upper end of the mesh, from temple to temple."""
MIDDLE, ROOT_OF_NOSE = 10, 168
HIGHEST = 0.5
"""How far the forehead may go on, in distances from the root of the nose to the mesh's end."""
BITS = 4


def with_forehead(face: Map, pixels: Pixels, mesh: Landmarks478, skin: SkinColour) -> Map:
    """Let a face grow upwards over what has the colour of its forehead.

    Args:
        face: 0..1, what a picture shows of the mesh, height x width.
        pixels: of the picture.
        mesh: of the face, in the picture.
        skin: the colour of the forehead.
    """
    room = _room(mesh, face.shape[:2])
    rows, columns = np.nonzero(room)
    if not len(rows):
        return face
    # One pixel of the face all around is where the growth begins.
    part = np.s_[max(rows.min() - 1, 0) : rows.max() + 2, max(columns.min() - 1, 0) : columns.max() + 2]
    odd = blur(strangeness(to_lab(pixels[part]), skin), max(_height(mesh) / 60, 0.5))
    alike = (1 - smooth_step(odd, 1.9, 3.1)) * (room[part] > 0)
    steps = int(np.ceil(HIGHEST * _height(mesh))) + 2
    grown = face.copy()
    grown[part] = np.maximum(face[part], grow_within(face[part], np.maximum(face[part], alike), steps))
    return grown


def _height(mesh: Landmarks478) -> float:
    """From the root of the nose to the upper end of the mesh, in pixels."""
    return float(np.hypot(*(mesh[MIDDLE, :2] - mesh[ROOT_OF_NOSE, :2])))


def _room(mesh: Landmarks478, shape: tuple[int, ...]) -> Marks:
    """Where the forehead may be: above the arc, least at the temples."""
    arc = mesh[list(ARC), :2]
    height = (mesh[MIDDLE, :2] - mesh[ROOT_OF_NOSE, :2]) * np.float32(HIGHEST)
    share = np.sin(np.linspace(0, np.pi, len(ARC), dtype=np.float32))[:, None]
    # A little of the mesh too, so that no gap is left to it.
    outline = np.concatenate((arc - height * np.float32(0.2), (arc + height * share)[::-1]))
    room = np.zeros(shape, np.uint8)
    cv2.fillPoly(room, [np.rint(outline * (1 << BITS)).astype(np.int32)], (255,), cv2.LINE_8, BITS)
    return room
