"""A super-resolution network run on each face at the face's own resolution.

The crop is never sampled more coarsely than the frame (up to ``LARGEST_CROP``), so a sharp face keeps its detail; what
the network adds is the removal of noise and coding artefacts and clean edges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import cv2
import numpy as np

from facefusion.core.values import Face, Picture, Pixels
from facefusion.faces.aligned import AlignedFace, rounds
from facefusion.processors.base import Scene
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

    @property
    def weighted(self) -> bool:
        """It heeds no weight."""
        return False

    def enhance(self, scenes: Sequence[Scene]) -> None:
        """See :class:`~facefusion.processors.face_enhancer.families.base.EnhancerFamily`."""
        laid = [[_laid(scene.picture, face) for face in scene.faces] for scene in scenes]
        for places in rounds(laid):
            by_side: defaultdict[int, list[AlignedFace]] = defaultdict(list)
            for place in places:
                face = laid[place.picture][place.face]
                by_side[face.side].append(face)
            for faces in by_side.values():
                self._enhance_apart(faces)

    def _enhance_apart(self, faces: Sequence[AlignedFace]) -> None:
        """Enhance faces whose crops are of one size and do not overlap."""
        crops = [face.cut() for face in faces]
        enlarged = self._network.enlarge([crop.pixels for crop in crops])
        for face, pixels, seam in zip(faces, enlarged, self._seam(crops), strict=True):
            side = face.side * self._network.scale
            mask = cv2.resize(seam, (side, side), interpolation=cv2.INTER_LINEAR)
            whole: Pixels = pixels if face.picture.bit_depth > 8 else np.rint(pixels).astype(np.uint8)
            face.picture.paste(whole, mask * self._blend, _square(face.face).to_crop(side))


def _laid(picture: Picture, face: Face) -> AlignedFace:
    square = _square(face)
    side = int(np.clip(np.ceil(square.side / CROP_STEP) * CROP_STEP, SMALLEST_CROP, LARGEST_CROP))
    return AlignedFace.lay(picture, face, square.to_crop(side), side)


def _square(face: Face) -> SquareRegion:
    """The eye-aligned square that holds the face and some surroundings."""
    angle = angle_between(face.landmarks5[0], face.landmarks5[1])
    if face.mesh is not None:
        return square_around(face.mesh[:, :2], angle, CROP_MARGIN)
    left, top, right, bottom = face.box.tolist()
    return SquareRegion((left + right) / 2, (top + bottom) / 2, max(right - left, bottom - top) * CROP_MARGIN, angle)
