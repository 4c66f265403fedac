"""FAN 68/5: guesses 68 points from five, without a look at the picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import FittedGraph, TypedGraph
from facefusion.core.values import Landmarks5, Landmarks68
from facefusion.vision.geometry import fit_template, invert, transform_points

TEMPLATE = "ffhq_512"


class OutlineEstimator:
    """Runs ``input`` (n, 5, 2) -> first output (n, 68, 2), in sides of a crop in which the face lies on a template."""

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._graph = FittedGraph(card.name, graph, {"input": (1, 5, 2)}, [(1, 68, 2)])

    def estimate(self, faces: Sequence[Landmarks5]) -> list[Landmarks68]:
        """The 68 points of each face, in the coordinates of its five."""
        maps = [fit_template(points, TEMPLATE, 1) for points in faces]
        laid = [
            transform_points(to_crop, points.astype(np.float64)) for to_crop, points in zip(maps, faces, strict=True)
        ]
        (guessed,) = self._graph.run_rows("input", np.stack(laid).astype(np.float32))
        return [
            transform_points(invert(to_crop), points.astype(np.float64)).astype(np.float32)
            for to_crop, points in zip(maps, guessed, strict=True)
        ]
