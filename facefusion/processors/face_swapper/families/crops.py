"""What lies between a crop of the frame and a network that gives a whole new crop.

A crop may be a whole multiple of the network's size ("pixel boost"). It is then taken apart into interleaved
sub-images, each the whole face sampled at every n-th pixel, which the network sees one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import UsageError
from facefusion.core.graph import FittedGraph, Shape, SignedGraph
from facefusion.core.values import Pixels, Tensor
from facefusion.faces.aligned import template_of
from facefusion.faces.normalisation import CHANNELS, Normalisation


def split(crop: Pixels, times: int) -> Pixels:
    """Take a crop apart: part ``a * times + b`` holds ``crop[a::times, b::times]``."""
    side = crop.shape[0] // times
    grid = crop.reshape(side, times, side, times, CHANNELS).transpose(1, 3, 0, 2, 4)
    return cast("Pixels", grid.reshape(times * times, side, side, CHANNELS))


def join(parts: Pixels, times: int) -> Pixels:
    """Put a crop together from what :func:`split` gives."""
    side = parts.shape[1]
    grid = parts.reshape(times, times, side, side, CHANNELS).transpose(2, 0, 3, 1, 4)
    return cast("Pixels", np.ascontiguousarray(grid.reshape(side * times, side * times, CHANNELS)))


class CropNetwork:
    """Runs a graph ``target`` (n, 3, S, S), ``source`` (n, ...) -> (n, 3, S, S), further outputs unread.

    Thread-safe. Where the graph leaves n open, all sub-images of some faces go through it in one run.

    Args:
        card: numbers ``input_size`` (S), ``template``, ``mean``, ``deviation``.
        graph: what runs it.
        source: shape of what the graph takes from one source.
        gives: how its result is coded; as it takes the target where not given.
        boost: side of the crops; the graph's own where none.

    Raises:
        ModelError: the entry lacks a number, or the graph does not fit.
        UsageError: the graph cannot be used at this boost.
    """

    def __init__(
        self,
        card: ModelCard,
        graph: SignedGraph,
        source: Shape,
        *,
        gives: Normalisation | None = None,
        boost: int | None = None,
    ) -> None:
        size = int(card.number("input_size"))
        self.template = template_of(card)
        self.side = boost or size
        if self.side % size:
            raise UsageError(
                f"{card.name} cannot work at {self.side}x{self.side}, which is no multiple of its size {size}x{size}",
                f"Set --face-swapper-pixel-boost to {size}x{size} or {2 * size}x{2 * size}.",
            )
        self._times = self.side // size
        self._takes = Normalisation.of(card)
        self._gives = gives or self._takes
        image = (1, CHANNELS, size, size)
        self._graph = FittedGraph(card.name, graph, {"target": image, "source": (1, *source)}, [image])

    def run(self, crops: Sequence[Pixels], sources: Tensor) -> list[Pixels]:
        """New crops of faces, ``float32``.

        Args:
            crops: of :attr:`side` x :attr:`side` pixels; no more than
                :func:`~facefusion.core.graph.in_runs` gives together.
            sources: what goes into each, by the first dimension.

        Raises:
            ModelError: the graph rejects the inputs or gives another shape than it should.
            InferenceError: it gives values that are no numbers, as half precision may where it overflows.
        """
        count = self._times**2
        parts = np.concatenate([split(crop, self._times) for crop in crops])
        target, source = self._takes.encode(parts), np.repeat(sources, count, axis=0)
        (swapped,) = self._graph.run_together({"target": target, "source": source})
        new = self._gives.decode(swapped)
        return [join(new[first : first + count], self._times) for first in range(0, len(new), count)]
