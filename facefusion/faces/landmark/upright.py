"""What the 68-point landmarkers look at: a face by its box, turned upright by quarter turns, lit where it is dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Affine, Box, Landmarks68, Picture, Size, Tensor
from facefusion.faces.normalisation import PLAIN, planes_by_table
from facefusion.vision.geometry import compose, invert, transform_points

SIDE = 256
"""Of the crop, in pixels."""
FACE_SIDE = 195.0
"""Longer side of the face's box in it."""
FOREHEAD = 0.1
"""By how much of its longer side a detector's box of a face reaches up beyond the box of its mesh. Measured with YuNet
on 154 faces: with that the longer sides differ by 0.1 %, without by 10 % (medians)."""
DARK = 30.0
"""Mean lightness, 0..255, below which the contrast is raised."""
CONTRAST_LIMIT = 2.0
TURNS = {0: (1.0, 0.0), 90: (0.0, 1.0), 180: (-1.0, 0.0), 270: (0.0, -1.0)}
"""Cosine and sine of quarter turns, in degrees."""
JAW_LEFT, JAW_RIGHT = 0, 16
"""The ends of the jaw line among the 68 points."""
_SHARES = PLAIN.tables()


def _lightness_of_green() -> npt.NDArray[np.uint8]:
    """What :func:`_lit` measures of pixels with so much green and nothing else."""
    green = np.zeros((1, 256, 3), np.uint8)
    green[..., 1] = np.arange(256)
    return cast("npt.NDArray[np.uint8]", cv2.cvtColor(green, cv2.COLOR_RGB2Lab)[..., 0])


_LIGHTNESS_OF_GREEN = _lightness_of_green()


class UprightCrop(NamedTuple):
    """A face as a landmarker sees it."""

    pixels: npt.NDArray[np.uint8]
    frame_to_crop: Affine


def quarter_turn(points: Landmarks68) -> int:
    """The angle of a face by its jaw line, degrees clockwise in the picture, to the nearest of 0, 90, 180 and 270."""
    across = points[JAW_RIGHT] - points[JAW_LEFT]
    degrees = math.degrees(math.atan2(float(across[1]), float(across[0]))) % 360.0
    return math.ceil(degrees / 90.0 - 0.5) % 4 * 90


def upright_crop(picture: Picture, box: Box, turn: int) -> UprightCrop:
    """Cut a face out.

    Args:
        picture: only read.
        box: of the face.
        turn: its angle as :func:`quarter_turn` gives it; it is turned back by that.
    """
    frame_to_crop = upright_map(box, turn)
    crop = picture.warp(frame_to_crop, Size(SIDE, SIDE))
    return UprightCrop(
        _lit(_black_outside(crop.astype(np.uint8, copy=False), frame_to_crop, picture.size)), frame_to_crop
    )


def with_forehead(box: Box, turn: int) -> Box:
    """The box of a mesh as a detector would draw it: further up on the face by :data:`FOREHEAD`.

    Args:
        box: of all points of the mesh.
        turn: the angle of the face, see :func:`quarter_turn`.
    """
    left, top, right, bottom = (float(edge) for edge in box)
    cosine, sine = TURNS[turn]
    more = FOREHEAD * max(right - left, bottom - top)
    grown: Box = np.array(
        (
            left - more * max(-sine, 0.0),
            top - more * max(cosine, 0.0),
            right + more * max(sine, 0.0),
            bottom + more * max(-cosine, 0.0),
        ),
        np.float32,
    )
    return grown


def upright_map(box: Box, turn: int) -> Affine:
    """The map from the frame into the crop: the box in its middle, turned counter-clockwise by ``turn`` about that."""
    left, top, right, bottom = (float(edge) for edge in box)
    scale = FACE_SIDE / max(right - left, bottom - top, 1.0)
    middle = SIDE / 2
    place = np.array(
        [[scale, 0.0, middle - scale * (left + right) / 2], [0.0, scale, middle - scale * (top + bottom) / 2]]
    )
    cosine, sine = TURNS[turn]
    shift_x, shift_y = middle - cosine * middle - sine * middle, middle + sine * middle - cosine * middle
    return compose(np.array([[cosine, sine, shift_x], [-sine, cosine, shift_y]]), place)


def to_tensor(crops: Sequence[npt.NDArray[np.uint8]]) -> Tensor:
    """Crops as the networks take them: n x 3 x height x width, BGR, 0..1."""
    return planes_by_table(crops, _SHARES, red_first=False)


def _black_outside(crop: npt.NDArray[np.uint8], frame_to_crop: Affine, size: Size) -> npt.NDArray[np.uint8]:
    """The crop without what lies beyond the frame: landmarkers are used to black there, not to its border repeated."""
    corners = np.array([(0, 0), (SIDE - 1, 0), (SIDE - 1, SIDE - 1), (0, SIDE - 1)], np.float64)
    places = transform_points(invert(frame_to_crop), corners)
    if places.min() >= -0.5 and (places.max(axis=0) <= np.array(size) - 0.5).all():
        return crop
    right, bottom = size.width - 0.5, size.height - 0.5
    frame = np.array([(-0.5, -0.5), (right, -0.5), (right, bottom), (-0.5, bottom)])
    inside = np.zeros((SIDE, SIDE), np.uint8)
    outline = np.rint(transform_points(frame_to_crop, frame) * 16).clip(-(2**30), 2**30).astype(np.int32)
    cv2.fillConvexPoly(inside, outline, (1,), shift=4)
    return cast("npt.NDArray[np.uint8]", cv2.copyTo(crop, inside))


def _lit(crop: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """The crop with its contrast raised where it is dark.

    Lightness is measured with red and blue exchanged, since the limit was chosen with that.
    """
    # Lightness grows with each colour, so it is no less than green alone makes it: that settles it for most crops.
    if cv2.mean(cv2.LUT(cv2.extractChannel(crop, 1), _LIGHTNESS_OF_GREEN))[0] >= DARK:
        return crop
    lab = cv2.cvtColor(crop, cv2.COLOR_RGB2Lab)
    if float(lab[:, :, 0].mean()) >= DARK:
        return crop
    lab[:, :, 0] = cv2.createCLAHE(clipLimit=CONTRAST_LIMIT).apply(lab[:, :, 0])
    lit: npt.NDArray[np.uint8] = cv2.cvtColor(lab, cv2.COLOR_Lab2RGB).astype(np.uint8, copy=False)
    return lit
