"""Running a network on a crop at the network's own size."""

from __future__ import annotations

from typing import cast

import cv2
import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.graph import FittedGraph, GraphSignature, Shape, TypedGraph
from facefusion.core.values import Pixels, Size, Tensor

INPUT = "input"
COLOURS = 3
WRONG_FILE = "Its file is another model than the catalogue says: delete it and fetch it with force-download."


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
        self._name = card.name
        self._read = self._shape(channels)
        self._graph = FittedGraph(card.name, graph, {INPUT: self._shape(COLOURS)}, [self._read])
        declared = self._graph.signature.inputs[INPUT].shape
        height, width = declared[2:] if self._planar else declared[1:3]
        usual = int(card.number("input_size", side))
        self._size = Size(width or usual, height or usual)

    @property
    def channels(self) -> int | None:
        """Of the first output, where the graph declares them."""
        declared = next(iter(self._graph.signature.outputs.values())).shape
        return declared[1 if self._planar else 3] if declared else None

    def fitted(self, crop: Pixels) -> Pixels:
        """The crop at the network's size, interpolated linearly."""
        return cast("Pixels", cv2.resize(crop, self._size))

    def run(self, picture: Tensor) -> Tensor:
        """Run the graph.

        Args:
            picture: height x width x 3 at the network's size, in the colours and the range that it wants.

        Returns:
            Its first output, as channels x height x width.

        Raises:
            ModelError: the graph rejects the input, or gives another shape than it should.
            FloatingPointError: it gives values that are no numbers, as half precision may where it overflows.
        """
        tensor = picture.transpose(2, 0, 1) if self._planar else picture
        outputs: Tensor = self._graph.run({INPUT: np.ascontiguousarray(tensor[None])})[0]
        if outputs.ndim != len(self._read) or not all(
            wanted in (None, size) for wanted, size in zip(self._read, outputs.shape, strict=True)
        ):
            raise ModelError(
                f"{self._name}: the graph gave {outputs.shape} for a crop of {tensor.shape}",
                WRONG_FILE,
            )
        if not np.isfinite(outputs).all():
            raise FloatingPointError(f"{self._name} gave values that are no numbers")
        output: Tensor = outputs[0]
        return output if self._planar else output.transpose(2, 0, 1)

    def _shape(self, channels: int | None) -> Shape:
        return (1, channels, None, None) if self._planar else (1, None, None, channels)


def _is_planar(signature: GraphSignature, usual: bool) -> bool:
    declared = signature.inputs.get(INPUT)
    if declared is None or len(declared.shape) != 4:
        return usual  # and is refused as what does not fit
    first, last = declared.shape[1] == COLOURS, declared.shape[3] == COLOURS
    return usual if first == last else first
