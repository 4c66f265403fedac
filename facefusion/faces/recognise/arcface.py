"""ArcFace: identity in 512 numbers.

J. Deng et al., "ArcFace: Additive Angular Margin Loss for Deep Face Recognition", CVPR 2019. Several swapping networks
were trained on its embeddings, some on their direction, some on their length too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import FittedGraph, TypedGraph, in_runs
from facefusion.core.values import Embedding, Landmarks5, Picture, Pixels, Size
from facefusion.faces.normalisation import HALVES
from facefusion.faces.recognise.base import IdentityReading, LikenessScale, identity_of
from facefusion.vision.geometry import fit_template

INPUT_SIDE = 112
LENGTH = 512
TEMPLATE = "arcface_112_v2"


class ArcFace:
    """Runs the graph ``input`` (1, 3, 112, 112) RGB -1..1 -> (1, 512).

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self.likeness = LikenessScale.of(card)
        self._name = card.name
        self._side = int(card.number("input_size", INPUT_SIDE))
        self._graph = FittedGraph(card.name, graph, {"input": (1, 3, self._side, self._side)}, [(1, LENGTH)])

    def embed(self, picture: Picture, points: Landmarks5) -> Embedding:
        """See :class:`~facefusion.faces.recognise.base.FaceRecogniser`."""
        return self.read(picture, points).unit

    def read(self, picture: Picture, points: Landmarks5) -> IdentityReading:
        """The identity of the face at ``points`` as the network gives it, and at length one."""
        return self.read_each([(picture, points)])[0]

    def read_each(self, faces: Sequence[tuple[Picture, Landmarks5]]) -> list[IdentityReading]:
        """:meth:`read` for several faces, which go through the graph together."""
        readings: list[IdentityReading] = []
        for some in in_runs(faces, self._side, self._side):
            crops = [self._crop(picture, points) for picture, points in some]
            (rows,) = self._graph.run_rows("input", HALVES.encode(cast("Pixels", np.stack(crops))))
            readings += [identity_of(self._name, raw) for raw in rows]
        return readings

    def _crop(self, picture: Picture, points: Landmarks5) -> Pixels:
        return picture.warp(fit_template(points, TEMPLATE, self._side), Size(self._side, self._side))
