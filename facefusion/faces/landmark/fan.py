"""FAN: 68 points, with a heat map of each that tells how sure it is.

A. Bulat and G. Tzimiropoulos, "How far are we from solving the 2D & 3D Face Alignment problem?", ICCV 2017.
"""

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
SURE = 0.9
"""Mean peak of the heat maps that stands for full confidence."""


class Fan:
    """Runs ``input`` (n, 3, 256, 256) BGR 0..1 -> points (n, 68, 2 or more), heat maps (n, 68, any, any)."""

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._name = card.name
        self._graph = FittedGraph(card.name, graph, {"input": (1, 3, SIDE, SIDE)}, [(1, 68, None), (1, 68, None, None)])

    def read(self, crops: Sequence[npt.NDArray[np.uint8]]) -> list[Outline]:
        """See :class:`~facefusion.faces.landmark.base.OutlineReader`."""
        places, heat = self._graph.run_rows("input", to_tensor(crops))
        if places.shape[2] < 2:
            raise ModelError(
                f"{self._name}: the graph does not fit its family: expected two coordinates for a point or more, found "
                f"{places.shape[2]}",
                WRONG_FILE,
            )
        points = places[:, :, :2] * np.float32(SIDE / GRID)
        peaks = heat.max(axis=(2, 3)).mean(axis=1)
        return [outline(self._name, one, float(peak) / SURE) for one, peak in zip(points, peaks, strict=True)]
