"""XSeg: which pixels of a crop show the face, and which something in front of it.

From DeepFaceLab (I. Perov et al., 2020, arXiv:2005.05535); a segmenter trained on faces behind hands, hair and glasses.
"""

from __future__ import annotations

from typing import cast

import cv2
import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import TypedGraph
from facefusion.core.values import Mask, Pixels
from facefusion.faces.mask.network import MaskNetwork

SIDE = 256


class XSeg:
    """Runs the graph ``input`` (1, 256, 256, 3) BGR 0..1 -> (1, 256, 256, 1), the face.

    Raises:
        ModelError: the graph cannot be loaded, or does not fit.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._network = MaskNetwork(card, graph, side=SIDE, planar=False, channels=1)

    def uncovered(self, crop: Pixels) -> Mask:
        """See :class:`~facefusion.faces.mask.base.FaceOccluder`."""
        height, width = crop.shape[:2]
        picture = self._network.fitted(crop).astype(np.float32) / np.float32(255)
        shown = self._network.run(picture)[0].clip(0, 1)
        return cast("Mask", cv2.resize(shown, (width, height)))
