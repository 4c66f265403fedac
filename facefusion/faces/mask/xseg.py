"""XSeg: which pixels of a crop show the face, and which something in front of it.

From DeepFaceLab (I. Perov et al., 2020, arXiv:2005.05535); a segmenter trained on faces behind hands, hair and glasses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import TypedGraph
from facefusion.core.values import Mask, Pixels, Tensor
from facefusion.faces.mask.base import FaceCrop
from facefusion.faces.mask.network import MaskNetwork

SIDE = 256


class XSeg:
    """Runs the graph ``input`` (1, 256, 256, 3) BGR 0..1 -> (1, 256, 256, 1), the face.

    Raises:
        ModelError: the graph cannot be loaded, or does not fit.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._network = MaskNetwork(card, graph, side=SIDE, planar=False, channels=1)

    def uncovered(self, crops: Sequence[FaceCrop]) -> list[Mask]:
        """See :class:`~facefusion.faces.mask.base.FaceOccluder`."""
        return self._network.masks([crop.pixels for crop in crops], _encode, _decode)


def _encode(crop: Pixels) -> Tensor:
    return crop.astype(np.float32) / np.float32(255)


def _decode(output: Tensor) -> Mask:
    shown: Mask = output[0].clip(0, 1)
    return shown
