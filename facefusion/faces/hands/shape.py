"""The shape of a hand, drawn from its joints."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Size
from facefusion.faces.hands.joints import Joints
from facefusion.vision.filters import Marks

FINGERS = (
    ((1, 2, 3, 4), 0.13),
    ((5, 6, 7, 8), 0.105),
    ((9, 10, 11, 12), 0.105),
    ((13, 14, 15, 16), 0.1),
    ((17, 18, 19, 20), 0.09),
)
"""Joints of each finger, and half its width in lengths of the palm."""
OUTLINE = (0, 1, 2, 5, 9, 13, 17)
"""The palm: the hull of these, wider by half a finger."""
LENGTH = (0, 9)
"""From the wrist to the middle finger's knuckle: the length of the palm."""
FOREARM = 0.9
"""How much of the forearm is drawn, in lengths of the palm."""
FOREARM_WIDTH = 0.3
"""Half of it, in lengths of the palm."""
BITS = 4
"""Fractions of a pixel that are drawn."""
MOST_WIDTH = 255
"""Of a line that OpenCV draws, in pixels."""


def draw_hand(joints: Joints, size: Size) -> Marks:
    """255 where a hand lies, 0 elsewhere.

    Args:
        joints: in pixels of the result.
        size: of the result.
    """
    marks = np.zeros((size.height, size.width), np.uint8)
    flat = joints[:, :2]
    wrist, knuckle = joints[list(LENGTH)]
    # In space, since a hand that points at the camera is no smaller.
    length = float(np.linalg.norm(knuckle - wrist))
    outline = flat[list(OUTLINE)]
    palm = outline[cv2.convexHull(outline, returnPoints=False)[:, 0]]
    cv2.fillPoly(marks, [_fixed(palm)], (255,), cv2.LINE_8, BITS)
    _stroke(marks, np.concatenate((palm, palm[:1])), FINGERS[1][1] * length)
    for finger, half_width in FINGERS:
        _stroke(marks, flat[list(finger)], half_width * length)
    end = flat[LENGTH[0]] + FOREARM * (flat[LENGTH[0]] - flat[LENGTH[1]])
    _stroke(marks, np.stack((flat[LENGTH[0]], end)), FOREARM_WIDTH * length)
    return marks


def _stroke(marks: Marks, points: npt.NDArray[np.float32], half_width: float) -> None:
    """A line with round ends."""
    width = max(1, round(2 * half_width))
    cv2.polylines(marks, [_fixed(points)], False, (255,), min(width, MOST_WIDTH), cv2.LINE_8, BITS)


def _fixed(points: npt.NDArray[np.float32]) -> npt.NDArray[np.int32]:
    fixed: npt.NDArray[np.int32] = np.rint(points * (1 << BITS)).astype(np.int32)
    return fixed
