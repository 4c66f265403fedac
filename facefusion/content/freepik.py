"""Freepik's classifier of pictures in four degrees, a vision transformer, 2025; ``nsfw_3`` of FaceFusion."""

from __future__ import annotations

import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.content.base import Thumbnail
from facefusion.content.letterbox import inner_thumbnail, letterboxed
from facefusion.core.graph import FittedGraph, TypedGraph
from facefusion.core.values import Picture

SIDE = 448
MEAN = np.array((0.481455, 0.457827, 0.408211), np.float32)
DEVIATION = np.array((0.26863, 0.261303, 0.275777), np.float32)
"""Red, green and blue, of the pictures that CLIP was trained on."""


class Freepik:
    """Runs the graph ``input`` (1, 3, 448, 448) RGB -> (1, 4): a number for each degree, from harmless on.

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._graph = FittedGraph(card.name, graph, {"input": (1, 3, SIDE, SIDE)}, [(1, 4)])

    def thumbnail(self, picture: Picture) -> Thumbnail:
        """See :class:`~facefusion.content.base.ContentNetwork`."""
        return inner_thumbnail(picture, SIDE)

    def score(self, thumbnail: Thumbnail) -> float:
        """See :class:`~facefusion.content.base.ContentNetwork`; the upper two degrees less the lower two."""
        degrees = self._graph.run({"input": letterboxed(thumbnail, SIDE, MEAN, DEVIATION)})[0][0]
        return float(degrees[2:].sum() - degrees[:2].sum())
