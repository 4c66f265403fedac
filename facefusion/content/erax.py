"""EraX's detector of what is not shown in public, a YOLO11 of some classes, 2024; ``nsfw_1`` of FaceFusion."""

from __future__ import annotations

import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.content.base import Thumbnail
from facefusion.content.letterbox import inner_thumbnail, letterboxed
from facefusion.core.errors import ModelError
from facefusion.core.graph import WRONG_FILE, FittedGraph, TypedGraph
from facefusion.core.values import Picture

SIDE = 640
PLACES = 4
"""Numbers of a candidate before those of its classes: middle and size."""
MEAN, DEVIATION = np.zeros(3, np.float32), np.ones(3, np.float32)


class Erax:
    """Runs the graph ``input`` (1, 3, 640, 640) RGB 0..1 -> (1, 4 + classes, candidates).

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._name = card.name
        self._graph = FittedGraph(card.name, graph, {"input": (1, 3, SIDE, SIDE)}, [(1, None, None)])

    def thumbnail(self, picture: Picture) -> Thumbnail:
        """See :class:`~facefusion.content.base.ContentNetwork`."""
        return inner_thumbnail(picture, SIDE)

    def score(self, thumbnail: Thumbnail) -> float:
        """See :class:`~facefusion.content.base.ContentNetwork`; the surest class of the surest candidate, 0..1."""
        classes = self._graph.run({"input": letterboxed(thumbnail, SIDE, MEAN, DEVIATION)})[0][0, PLACES:]
        if not classes.size:
            raise ModelError(f"{self._name}: the graph gives candidates of no class", WRONG_FILE)
        return float(classes.max())
