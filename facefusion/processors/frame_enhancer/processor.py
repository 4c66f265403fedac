"""The frame enhancer: a super-resolution network over the whole frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import cv2
import numpy as np

from facefusion.core.graph import PICTURES_AT_ONCE
from facefusion.core.values import Face, Frame, Picture, Pixels, Size
from facefusion.processors.base import ProcessorKind, Scene, Workshop
from facefusion.processors.frame_enhancer.settings import FrameEnhancerSettings
from facefusion.processors.super_resolution import Enlarged, SuperResolution
from facefusion.provenance.records import SourceType


class FrameEnhancer:
    """Enlarges frames, mixed with a plain enlargement by ``frame_enhancer_blend``."""

    name = "frame_enhancer"

    def __init__(self, network: SuperResolution, blend: float) -> None:
        self._network = network
        self._blend = blend

    def output_size(self, size: Size) -> Size:
        """The network's factor times ``size``."""
        return self._network.output_size(size)

    def observe(self, frame: Frame, faces: Sequence[Face]) -> None:
        """Nothing to learn from earlier frames."""

    def process(self, scenes: Sequence[Scene]) -> list[Picture]:
        """The enlarged pictures, in the format of what comes. All must be of one size."""
        pictures = [scene.picture for scene in scenes]
        enlarged: list[Picture] = []
        for first in range(0, len(pictures), PICTURES_AT_ONCE):
            enlarged += self._enlarged(pictures[first : first + PICTURES_AT_ONCE])
        return enlarged

    def afresh(self) -> FrameEnhancer:
        """Itself: nothing is kept from frame to frame."""
        return self

    def _enlarged(self, pictures: Sequence[Picture]) -> list[Picture]:
        given = [picture.to_bgr(as_float=picture.bit_depth > 8) for picture in pictures]
        results = self._network.enlarge(given)
        return [
            picture.replaced_by(self._mixed(pixels, enlarged, deep=picture.bit_depth > 8))
            for picture, pixels, enlarged in zip(pictures, given, results, strict=True)
        ]

    def _mixed(self, pixels: Pixels, enlarged: Enlarged, *, deep: bool) -> Pixels:
        """The network's picture with its share of the plain enlargement; whole levels unless ``deep``."""
        if self._blend < 1:
            height, width = enlarged.shape[:2]
            plain = cv2.resize(pixels, (width, height), interpolation=cv2.INTER_CUBIC)
            enlarged += np.float32(1 - self._blend) * (plain - enlarged)
        return enlarged if deep else cast("Pixels", np.clip(np.rint(enlarged), 0, 255).astype(np.uint8))


def _models(settings: FrameEnhancerSettings) -> Mapping[str, str]:
    return {"frame_enhancer": settings.frame_enhancer_model}


def _build(workshop: Workshop) -> FrameEnhancer:
    card = workshop.cards["frame_enhancer"]
    network = SuperResolution(card, workshop.runner(card))
    return FrameEnhancer(network, workshop.settings.frame_enhancer_blend / 100)


KIND = ProcessorKind(build=_build, models=_models, makes=SourceType.ENHANCED, needs_faces=False)
