"""A super-resolution network run on each face at the face's own resolution.

The crop is never sampled more coarsely than the frame (up to ``LARGEST_CROP``), so a sharp face keeps its detail; what
the network adds is the removal of noise and coding artefacts and clean edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from facefusion.core.values import Face, Picture, Pixels, Size
from facefusion.faces.mask.base import FaceCrop
from facefusion.processors.face_enhancer.families.base import Seam
from facefusion.processors.super_resolution import SuperResolution
from facefusion.vision.geometry import SquareRegion, angle_between, square_around

LARGEST_CROP = 512
"""Largest side of a crop, in pixels. The network's cost grows with the square of it; the result has twice the side."""
SMALLEST_CROP = 32
CROP_STEP = 16
"""Crops come in steps of this many pixels, so that the session sees few shapes."""
CROP_MARGIN = 1.4
"""Side of the crop over the larger extent of the face."""


class EnlargedFaces:
    """Enlarges each face and lays it back.

    Args:
        network: enlarges.
        seam: bounds the change of a face.
        blend: share of the network's face in the result, 0..1.
    """

    def __init__(self, network: SuperResolution, seam: Seam, blend: float) -> None:
        self._network = network
        self._blend = np.float32(blend)
        self._seam = seam

    def enhance(self, picture: Picture, faces: Sequence[Face]) -> None:
        """See :class:`~facefusion.processors.face_enhancer.families.base.EnhancerFamily`."""
        for face in faces:
            self._enhance(picture, face)

    def _enhance(self, picture: Picture, face: Face) -> None:
        square = _square(face)
        side = int(np.clip(np.ceil(square.side / CROP_STEP) * CROP_STEP, SMALLEST_CROP, LARGEST_CROP))
        deep = picture.bit_depth > 8
        frame_to_crop = square.to_crop(side)
        crop = picture.warp(frame_to_crop, Size(side, side), as_float=deep)
        enhanced: Pixels = self._network.enlarge(crop)
        if not deep:
            enhanced = np.rint(enhanced).astype(np.uint8)
        larger = side * self._network.scale
        seam = self._seam([FaceCrop(crop, face, frame_to_crop, picture)])[0]
        mask = cv2.resize(seam, (larger, larger), interpolation=cv2.INTER_LINEAR)
        picture.paste(enhanced, mask * self._blend, square.to_crop(larger))


def _square(face: Face) -> SquareRegion:
    """The eye-aligned square that holds the face and some surroundings."""
    angle = angle_between(face.landmarks5[0], face.landmarks5[1])
    if face.mesh is not None:
        return square_around(face.mesh[:, :2], angle, CROP_MARGIN)
    left, top, right, bottom = face.box.tolist()
    return SquareRegion((left + right) / 2, (top + bottom) / 2, max(right - left, bottom - top) * CROP_MARGIN, angle)
