"""BiSeNet: which region of a face each pixel of a crop shows.

C. Yu et al., "BiSeNet: Bilateral Segmentation Network for Real-time Semantic Segmentation", ECCV 2018, trained on the
classes of CelebAMask-HQ (C.-H. Lee et al., CVPR 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.graph import WRONG_FILE, TypedGraph
from facefusion.core.values import Mask, Pixels, Tensor
from facefusion.faces.mask.base import FaceCrop
from facefusion.faces.mask.network import MaskNetwork
from facefusion.faces.normalisation import IMAGENET

SIDE = 512
MEAN, DEVIATION = (np.array(values, np.float32) for values in (IMAGENET.mean, IMAGENET.deviation))
"""Red, green, blue."""

CLASSES: Mapping[str, int] = MappingProxyType(
    {
        "skin": 1,
        "left-eyebrow": 2,
        "right-eyebrow": 3,
        "left-eye": 4,
        "right-eye": 5,
        "glasses": 6,
        "nose": 10,
        "mouth": 11,
        "upper-lip": 12,
        "lower-lip": 13,
    }
)
"""The class of each region, by the name that users know it under; the others are ears, hair, neck and so on."""


class BiSeNet:
    """Runs the graph ``input`` (1, 3, 512, 512) RGB, normalised -> (1, classes, 512, 512), how likely each class is.

    Raises:
        ModelError: the graph cannot be loaded, or does not fit.
    """

    lacks: frozenset[str] = frozenset()

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._name = card.name
        self._network = MaskNetwork(card, graph, side=SIDE, planar=True, channels=None)
        if self._network.channels is not None:
            self._check_classes(self._network.channels)

    def regions(self, crops: Sequence[FaceCrop], names: frozenset[str]) -> list[Mask]:
        """See :class:`~facefusion.faces.mask.base.FaceParser`."""
        numbers = [CLASSES[name] for name in names]

        def decode(likely: Tensor) -> Mask:
            self._check_classes(len(likely))
            chosen = np.isin(np.arange(len(likely)), numbers)
            # Not which class is the likeliest, only whether it is a chosen one: a tenth of the time of argmax.
            return (_likeliest(likely[chosen]) > _likeliest(likely[~chosen])).astype(np.float32)

        return self._network.masks([crop.pixels for crop in crops], _encode, decode)

    def _check_classes(self, found: int) -> None:
        needed = max(CLASSES.values()) + 1
        if found < needed:
            raise ModelError(
                f"{self._name}: the graph does not fit its family: expected {needed} classes or more, found {found}",
                WRONG_FILE,
            )


def _encode(crop: Pixels) -> Tensor:
    colours = crop[..., ::-1].astype(np.float32) / np.float32(255)
    encoded: Tensor = (colours - MEAN) / DEVIATION
    return encoded


def _likeliest(classes: Tensor) -> Tensor:
    return cast("Tensor", classes.max(axis=0, initial=-np.inf))
