"""Finds what is held in front of the lower face and has not the colour of skin: microphones, masks, cups, collars."""

from __future__ import annotations

from typing import cast

import cv2
import numpy as np

from facefusion.faces.surface.atlas import Masks
from facefusion.faces.surface.tone import lab_to_tone
from facefusion.vision.filters import Map, blur, grow_within, median, smooth_ramp, smooth_step

_PALE = (0.62, 0.8)
"""Share of the skin's chroma that is missing: from here it may be, from there it is no skin."""

_LEAST_CHROMA = 6.0
"""Skin with less chroma than this, as in a grey picture, is taken to have this much, so that noise does not count."""

_LEAST_SIZE = 0.075
"""An occluder is at least this wide, in sides of the unwrapped face: highlights and teeth are smaller."""

_MASKED = (0.18, 0.28)
"""Share of the lower face from which on all of it is taken to be covered, as by a mask with shades and folds.

A microphone with the hand that held it had 0.14, a mask of nearly the colour of skin 0.31, a white one 0.59.
"""


def find_occluder(lab: Map, parts: Masks, facing: Map) -> Map:
    """Compare the lower face with the skin around nose and eyes: 0 (skin) .. 1 (occluder), n x n.

    What is nearer to grey, or beyond it on the other side of the colour plane, is no skin, if there is enough of it in
    one place. An occluder of the colour of skin, such as a hand, is not found this way.

    Args:
        lab: unwrapped face in Lab, n x n x 3.
        parts: the maps of that size.
        facing: how much the surface looks at the camera, n x n, 0 .. 1.
    """
    size = lab.shape[0]
    colour = lab_to_tone(lab)[..., 1:]
    upper = (parts.skin > 0.8) & (parts.height > 0.3) & (parts.height < 0.47) & (parts.rim_distance > 0.1)
    upper &= facing > 0.4
    if np.count_nonzero(upper) < 40:
        return np.zeros((size, size), np.float32)
    usual = median(colour[upper])
    chroma = np.float32(max(float(np.hypot(*usual)), _LEAST_CHROMA))
    towards_grey = usual.astype(np.float32) / (chroma * chroma)
    missing = (usual[0] - colour[..., 0]) * towards_grey[0] + (usual[1] - colour[..., 1]) * towards_grey[1]
    pale = smooth_step(blur(missing, size / 96), *_PALE)
    pale *= (parts.edge > 0.3) * (parts.height > 0.45) * smooth_step(facing, 0.2, 0.4)
    width = round(_LEAST_SIZE * size)
    core = cast("Map", cv2.erode(pale, np.ones((width, width), np.uint8)))
    found = grow_within(core, pale, size // 4)
    lower = (parts.height > 0.5) & (parts.edge > 0.5)
    covered = smooth_ramp(float(found[lower].mean()), *_MASKED)
    if covered > 0:
        found = np.maximum(found, smooth_step(parts.height, 0.42, 0.5) * np.float32(covered))
    return blur(found, size / 110)
