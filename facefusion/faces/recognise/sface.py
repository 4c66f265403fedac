"""SFace: identity in 128 numbers.

Y. Zhong et al., "SFace: Sigmoid-Constrained Hypersphere Loss for Robust Face Recognition", IEEE TIP 2021. Over 105
photos, pictures of one person have a cosine of 0.63 +- 0.15, of two people 0.07 +- 0.10.
"""

from __future__ import annotations

import cv2
import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import FittedGraph, TypedGraph
from facefusion.core.values import Embedding, Landmarks5, Picture, Size
from facefusion.faces.recognise.base import LikenessScale, identity_of
from facefusion.vision.geometry import fit_template

INPUT_SIDE = 112
LENGTH = 128
TEMPLATE = "arcface_112_v2"


class SFace:
    """Runs the graph ``data`` (1, 3, 112, 112) RGB 0..255 -> (1, 128).

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self.likeness = LikenessScale.of(card)
        self._name = card.name
        self._side = int(card.number("input_size", INPUT_SIDE))
        self._graph = FittedGraph(card.name, graph, {"data": (1, 3, self._side, self._side)}, [(1, LENGTH)])

    def embed(self, picture: Picture, points: Landmarks5) -> Embedding:
        """See :class:`~facefusion.faces.recognise.base.FaceRecogniser`; wants the detector's five points."""
        crop = picture.warp(fit_template(points, TEMPLATE, self._side), Size(self._side, self._side))
        colours = cv2.cvtColor(crop, cv2.COLOR_BGR2RGB)
        tensor = np.ascontiguousarray(colours.transpose(2, 0, 1)[None], np.float32)
        return identity_of(self._name, self._graph.run({"data": tensor})[0][0]).unit
