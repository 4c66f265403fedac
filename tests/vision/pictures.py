"""Pictures in many formats, masks and maps, shared by the tests of this folder."""

from __future__ import annotations

import numpy as np

from facefusion.vision.colour import Coding, Matrix
from facefusion.vision.picture import CENTRE, LEFT, TOP_LEFT, Layout, YuvPicture

IDENTITY = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def layout(step_x=2, step_y=2, *, bits=8, full=False, siting=LEFT, matrix=Matrix.BT709):
    return Layout(Coding(matrix, full, bits), step_x, step_y, siting)


FORMS = [
    layout(1, 1),
    layout(2, 1),
    layout(2, 2),
    layout(2, 2, siting=CENTRE, full=True, matrix=Matrix.BT601),
    layout(2, 2, siting=TOP_LEFT, bits=10, matrix=Matrix.BT2020),
    layout(1, 2, bits=16),
]


def yuv(pixels, form, *, grey=False):
    coding = form.coding
    blank = np.zeros((2, 2), coding.dtype)
    return YuvPicture((blank,) if grey else (blank, blank, blank), form).replaced_by(pixels)


def disc(size, radius, soft=6.0):
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    return np.clip((radius - np.hypot(x, y)) / soft, 0, 1).astype(np.float32)


def turned(scale, angle, frame_middle, crop_size):
    """The similarity that puts the frame's point ``frame_middle`` into the middle of a crop."""
    cosine, sine = scale * np.cos(angle), scale * np.sin(angle)
    linear = np.array([[cosine, sine], [-sine, cosine]])
    return np.column_stack((linear, np.full(2, (crop_size - 1) / 2) - linear @ frame_middle))
