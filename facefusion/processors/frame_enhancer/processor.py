"""The frame enhancer: a super-resolution network over the whole frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from facefusion.core.values import Face, Frame, Picture, Size
from facefusion.processors.base import ProcessorKind, Workshop
from facefusion.processors.frame_enhancer.settings import FrameEnhancerSettings
from facefusion.processors.super_resolution import SuperResolution


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

    def process(self, picture: Picture, faces: Sequence[Face], observation: object) -> Picture:
        """The enlarged picture, in the format of ``picture``."""
        pixels = picture.to_bgr(as_float=picture.bit_depth > 8)
        enlarged = self._network.enlarge(pixels)
        if self._blend < 1:
            size = self.output_size(picture.size)
            plain = cv2.resize(pixels, size, interpolation=cv2.INTER_CUBIC)
            enlarged += np.float32(1 - self._blend) * (plain - enlarged)
        if picture.bit_depth > 8:
            return picture.replaced_by(enlarged)
        return picture.replaced_by(np.clip(np.rint(enlarged), 0, 255).astype(np.uint8))

    def afresh(self) -> FrameEnhancer:
        """Itself: nothing is kept from frame to frame."""
        return self


def _models(settings: FrameEnhancerSettings) -> Mapping[str, str]:
    return {"frame_enhancer": settings.frame_enhancer_model}


def _build(workshop: Workshop) -> FrameEnhancer:
    card = workshop.cards["frame_enhancer"]
    network = SuperResolution(card, workshop.runner(card))
    return FrameEnhancer(network, workshop.settings.frame_enhancer_blend / 100)


KIND = ProcessorKind(build=_build, models=_models, needs_faces=False)
