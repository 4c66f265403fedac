"""Yahoo's OpenNSFW: a residual network that gives one probability.

J. Mahadeokar, G. Pesavento, "Open Sourcing a Deep Learning Solution for Detecting NSFW Images", 2016.
"""

from __future__ import annotations

import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.content.base import Thumbnail
from facefusion.core.graph import FittedGraph, TypedGraph
from facefusion.core.values import Picture, Size

RESIZED_SIDE = 256
INPUT_SIDE = 224
MEAN = np.array((104.0, 117.0, 123.0), np.float32)
"""Blue, green and red, over the pictures that it was trained on."""


class OpenNsfw:
    """Runs the graph ``input`` (1, 224, 224, 3) BGR less the mean -> (1, 2): harmless and not, summing to 1.

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._graph = FittedGraph(card.name, graph, {"input": (1, INPUT_SIDE, INPUT_SIDE, 3)}, [(1, 2)])

    def thumbnail(self, picture: Picture) -> Thumbnail:
        """See :class:`~facefusion.content.base.ContentNetwork`; the middle of the picture, squeezed square."""
        image = picture.thumbnail(Size(RESIZED_SIDE, RESIZED_SIDE))
        border = (RESIZED_SIDE - INPUT_SIDE) // 2
        inner = slice(border, border + INPUT_SIDE)
        return image[inner, inner]

    def score(self, thumbnail: Thumbnail) -> float:
        """See :class:`~facefusion.content.base.ContentNetwork`; the probability, 0..1."""
        tensor = thumbnail[None].astype(np.float32) - MEAN
        return float(self._graph.run({"input": tensor})[0][0, 1])
