"""The face enhancer: each face cut out, made clearer by a network, and pasted back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from facefusion.core.values import Face, Frame, Mask, Picture, Pixels, Size
from facefusion.processors.base import ProcessorKind, Workshop
from facefusion.processors.face_enhancer.settings import FaceEnhancerSettings
from facefusion.processors.super_resolution import SuperResolution
from facefusion.vision.geometry import SquareRegion, angle_between, square_around

LARGEST_CROP = 512
"""Largest side of a crop, in pixels. The network's cost grows with the square of it; the result has twice the side."""
SMALLEST_CROP = 32
CROP_STEP = 16
"""Crops come in steps of this many pixels, so that the session sees few shapes."""
CROP_MARGIN = 1.4
"""Side of the crop over the larger extent of the face."""
FEATHER = 0.12
"""Width of the soft edge of the mask, in crop sides."""


class FaceEnhancer:
    """Runs a super-resolution network on each face at the face's own resolution.

    The crop is never sampled more coarsely than the frame (up to ``LARGEST_CROP``), so a sharp face keeps its detail;
    what the network adds is the removal of noise and coding artefacts and clean edges.
    """

    name = "face_enhancer"

    def __init__(self, network: SuperResolution, blend: float) -> None:
        self._network = network
        self._blend = blend

    def output_size(self, size: Size) -> Size:
        """Same as the input."""
        return size

    def observe(self, frame: Frame, faces: Sequence[Face]) -> None:
        """Nothing to learn from earlier frames."""

    def process(self, picture: Picture, faces: Sequence[Face], observation: object) -> Picture:
        """Enhance every face in place."""
        for face in faces:
            self._enhance(picture, face)
        return picture

    def _enhance(self, picture: Picture, face: Face) -> None:
        square = _square(face)
        side = int(np.clip(np.ceil(square.side / CROP_STEP) * CROP_STEP, SMALLEST_CROP, LARGEST_CROP))
        deep = picture.bit_depth > 8
        crop = picture.warp(square.to_crop(side), Size(side, side), as_float=deep)
        enhanced: Pixels = self._network.enlarge(crop)
        if not deep:
            enhanced = np.rint(enhanced).astype(np.uint8)
        larger = side * self._network.scale
        picture.paste(enhanced, _soft_box(larger) * np.float32(self._blend), square.to_crop(larger))

    def afresh(self) -> FaceEnhancer:
        """Itself: nothing is kept from frame to frame."""
        return self


def _square(face: Face) -> SquareRegion:
    """The eye-aligned square that holds the face and some surroundings."""
    angle = angle_between(face.landmarks5[0], face.landmarks5[1])
    if face.mesh is not None:
        return square_around(face.mesh[:, :2], angle, CROP_MARGIN)
    left, top, right, bottom = face.box.tolist()
    return SquareRegion((left + right) / 2, (top + bottom) / 2, max(right - left, bottom - top) * CROP_MARGIN, angle)


@lru_cache(maxsize=64)
def _soft_box(side: int) -> Mask:
    """1 in the middle, falling to 0 at the border of a square of ``side`` pixels along half a cosine wave."""
    distance = (np.minimum(np.arange(side), np.arange(side)[::-1]) / (FEATHER * side)).clip(0, 1)
    ramp = (0.5 - 0.5 * np.cos(np.pi * distance)).astype(np.float32)
    mask = np.minimum.outer(ramp, ramp)
    mask.flags.writeable = False
    return mask


def _models(settings: FaceEnhancerSettings) -> Mapping[str, str]:
    return {"face_enhancer": settings.face_enhancer_model}


def _build(workshop: Workshop) -> FaceEnhancer:
    card = workshop.cards["face_enhancer"]
    network = SuperResolution(card, workshop.runner(card))
    return FaceEnhancer(network, workshop.settings.face_enhancer_blend / 100)


KIND = ProcessorKind(build=_build, models=_models)
