"""Running a convolutional super-resolution network on a picture of any size.

Shared by the face and the frame enhancer. The picture is cut into tiles with a margin of true neighbours, so that the
joins do not show; where the margin covers the network's whole view (waifu2x), the result does not depend on the tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.graph import WRONG_FILE, FittedGraph, TypedGraph, in_runs
from facefusion.core.values import Pixels, Size, Tensor
from facefusion.memory.buffers import ThreadBuffers
from facefusion.vision.tiles import tiles

CHANNELS = 3

Enlarged: TypeAlias = npt.NDArray[np.float32]
"""Height x width x 3, BGR, 0..255."""


class SuperResolution:
    """Enlarges pictures by the whole factor of its network: ``input`` (n, 3, H, W) RGB 0..1 -> the same, larger.

    The card gives the numbers: ``scale`` (whole factor), ``consumed`` (border pixels that the network's unpadded
    convolutions eat on each side, in input pixels), ``margin`` (further neighbours each tile sees), ``tile`` (side of
    a tile, input pixels).

    Raises:
        ModelError: the entry lacks a number, or the graph does not fit.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._name = card.name
        self._graph = FittedGraph(card.name, graph, {"input": (1, 3, None, None)}, [(1, 3, None, None)])
        sides = self._graph.signature.inputs["input"].shape[2:]
        if any(side is not None for side in sides):
            # The tiles at the right and lower edge are as large as what is left of the picture.
            found = " x ".join("any" if side is None else str(side) for side in sides)
            raise ModelError(
                f"{card.name}: the graph does not fit its family: expected tiles of any size, found {found}", WRONG_FILE
            )
        self._buffers = ThreadBuffers()
        self.scale = int(card.number("scale"))
        self._consumed = int(card.number("consumed"))
        self._margin = int(card.number("margin"))
        self._tile = int(card.number("tile"))

    def output_size(self, size: Size) -> Size:
        """Size of the enlarged picture."""
        return Size(size.width * self.scale, size.height * self.scale)

    def enlarge(self, pictures: Sequence[Pixels]) -> list[Enlarged]:
        """Enlarge pictures of one size. A tile of one goes through the graph with those at the same place of others.

        Args:
            pictures: height x width x 3 each, BGR, 0..255.

        Returns:
            float32, BGR, 0..255, ``scale`` times as high and wide.

        Raises:
            ModelError: the graph gives another size than it should.
            InferenceError: it gives values that are no numbers.
        """
        if not pictures:
            return []
        height, width = pictures[0].shape[:2]
        border, scale = self._consumed + self._margin, self.scale
        edges = ((border, border), (border, border), (0, 0))
        padded = [cast("Pixels", np.pad(picture, edges, mode="edge")) for picture in pictures]
        results = [np.empty((height * scale, width * scale, 3), np.float32) for _ in pictures]
        for left, top, right, bottom in tiles(Size(width, height), self._tile):
            parts = [picture[top : bottom + 2 * border, left : right + 2 * border] for picture in padded]
            cut = self._margin * scale
            for result, enlarged in zip(results, self._through_graph(parts), strict=True):
                inner = enlarged[cut : enlarged.shape[0] - cut, cut : enlarged.shape[1] - cut]
                result[top * scale : bottom * scale, left * scale : right * scale] = inner
        return results

    def _through_graph(self, parts: Sequence[Pixels]) -> Iterator[Enlarged]:
        height, width = parts[0].shape[:2]
        for some in in_runs(parts, width, height):
            tensor = self._buffers.take((len(some), CHANNELS, height, width), np.float32)
            for part, planes in zip(some, tensor, strict=True):
                np.multiply(part[:, :, ::-1].transpose(2, 0, 1), np.float32(1 / 255), out=planes)
            for output in self._enlarged(tensor):
                pixels: Enlarged = output.transpose(1, 2, 0)[:, :, ::-1] * np.float32(255)
                yield pixels.clip(0, 255, out=pixels)

    def _enlarged(self, tensor: Tensor) -> Tensor:
        output: Tensor = self._graph.run_rows("input", tensor)[0]
        larger = tuple((side - 2 * self._consumed) * self.scale for side in tensor.shape[2:])
        if output.shape != (len(tensor), CHANNELS, *larger):
            raise ModelError(f"{self._name}: the graph gave {output.shape} for a tile of {tensor.shape}", WRONG_FILE)
        return output
