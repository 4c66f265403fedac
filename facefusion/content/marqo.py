"""Marqo's classifier of pictures, a small vision transformer, 2024; ``nsfw_2`` of FaceFusion."""

from __future__ import annotations

import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.content.base import Thumbnail
from facefusion.content.letterbox import inner_thumbnail, letterboxed
from facefusion.core.graph import FittedGraph, TypedGraph
from facefusion.core.values import Picture

SIDE = 384
MEAN, DEVIATION = np.full(3, 0.5, np.float32), np.full(3, 0.5, np.float32)


class Marqo:
    """Runs the graph ``input`` (1, 3, 384, 384) RGB -> (1, 2): a number for and one against.

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._graph = FittedGraph(card.name, graph, {"input": (1, 3, SIDE, SIDE)}, [(1, 2)])

    def thumbnail(self, picture: Picture) -> Thumbnail:
        """See :class:`~facefusion.content.base.ContentNetwork`."""
        return inner_thumbnail(picture, SIDE)

    def score(self, thumbnail: Thumbnail) -> float:
        """See :class:`~facefusion.content.base.ContentNetwork`; the first number less the second."""
        harmful, harmless = self._graph.run({"input": letterboxed(thumbnail, SIDE, MEAN, DEVIATION)})[0][0].tolist()
        return float(harmful - harmless)
