"""Running a network on a crop at the network's own size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import cv2
import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import FittedGraph, GraphSignature, Shape, TypedGraph, in_runs
from facefusion.core.values import Mask, Pixels, Size, Tensor

INPUT = "input"
COLOURS = 3


class MaskNetwork:
    """Runs a graph ``input`` -> one value or several for each pixel.

    Size and layout are the graph's: its side where that is fixed, else the catalogue's ``input_size``, else the
    family's; colours before rows (NCHW) or behind columns (NHWC) as its input says, else as the family's files have
    them.

    Args:
        card: of the model.
        graph: of the model.
        side: of the input in the family's files, in pixels.
        planar: whether those are NCHW.
        channels: of the first output; none where any number will do.

    Raises:
        ModelError: the graph cannot be loaded, or does not fit.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph, *, side: int, planar: bool, channels: int | None) -> None:
        self._planar = _is_planar(graph.signature, planar)
        self._graph = FittedGraph(card.name, graph, {INPUT: self._shape(COLOURS)}, [self._shape(channels)])
        declared = self._graph.signature.inputs[INPUT].shape
        height, width = declared[2:] if self._planar else declared[1:3]
        usual = int(card.number("input_size", side))
        self._size = Size(width or usual, height or usual)

    @property
    def channels(self) -> int | None:
        """Of the first output, where the graph declares them."""
        declared = next(iter(self._graph.signature.outputs.values())).shape
        return declared[1 if self._planar else 3] if declared else None

    def masks(
        self, crops: Sequence[Pixels], encode: Callable[[Pixels], Tensor], decode: Callable[[Tensor], Mask]
    ) -> list[Mask]:
        """Run the graph over crops, in one call where it takes a batch.

        Args:
            crops: any size; brought to that of the network, interpolated linearly.
            encode: from a crop of the network's size to the numbers it wants, height x width x 3.
            decode: from the first output, channels x height x width, to the mask.

        Returns:
            A mask of each crop's own size, interpolated linearly.

        Raises:
            ModelError: the graph rejects the input, or gives another shape than it should.
            InferenceError: it gives values that are no numbers, as half precision may where it overflows.
        """
        masks: list[Mask] = []
        for group in in_runs(crops, *self._size):
            tensor = np.stack([encode(cast("Pixels", cv2.resize(crop, self._size))) for crop in group])
            for crop, output in zip(group, self._run(tensor), strict=True):
                height, width = crop.shape[:2]
                masks.append(cast("Mask", cv2.resize(decode(output), (width, height))))
        return masks

    def _run(self, pictures: Tensor) -> Tensor:
        """From n x height x width x 3 to n x channels x height x width."""
        given = np.ascontiguousarray(pictures.transpose(0, 3, 1, 2)) if self._planar else pictures
        outputs: Tensor = self._graph.run_rows(INPUT, given)[0]
        return outputs if self._planar else outputs.transpose(0, 3, 1, 2)

    def _shape(self, channels: int | None) -> Shape:
        return (1, channels, None, None) if self._planar else (1, None, None, channels)


def _is_planar(signature: GraphSignature, usual: bool) -> bool:
    declared = signature.inputs.get(INPUT)
    if declared is None or len(declared.shape) != 4:
        return usual  # and is refused as what does not fit
    first, last = declared.shape[1] == COLOURS, declared.shape[3] == COLOURS
    return usual if first == last else first
