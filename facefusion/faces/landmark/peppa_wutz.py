"""Peppa Wutz: 68 points, each with a score of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.graph import WRONG_FILE, FittedGraph, TypedGraph
from facefusion.faces.landmark.base import Outline, outline
from facefusion.faces.landmark.upright import SIDE, to_tensor

GRID = 64
"""Units of the points: cells of a grid over the crop."""
SURE = 0.95
"""Mean score of the points that stands for full confidence."""


class PeppaWutz:
    """Runs ``input`` (n, 3, 256, 256) BGR 0..1 -> n times 68 triples in any shape: x, y, score."""

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._name = card.name
        self._graph = FittedGraph(card.name, graph, {"input": (1, 3, SIDE, SIDE)}, [None])

    def read(self, crops: Sequence[npt.NDArray[np.uint8]]) -> list[Outline]:
        """See :class:`~facefusion.faces.landmark.base.OutlineReader`."""
        (output,) = self._graph.run_rows("input", to_tensor(crops))
        if output.size != len(crops) * 68 * 3:
            raise ModelError(
                f"{self._name}: the graph gave {output.size // len(crops)} numbers for a face, expected 68 x 3",
                WRONG_FILE,
            )
        triples = output.reshape(-1, 68, 3)
        points = triples[:, :, :2] * np.float32(SIDE / GRID)
        scores = triples[:, :, 2].mean(axis=1)
        return [outline(self._name, one, float(score) / SURE) for one, score in zip(points, scores, strict=True)]
