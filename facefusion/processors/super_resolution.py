"""Running a convolutional super-resolution network on a picture of any size.

Shared by the face and the frame enhancer. The picture is cut into tiles with a margin of true neighbours, so that the
joins do not show; where the margin covers the network's whole view (waifu2x), the result does not depend on the tiles.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.graph import WRONG_FILE, FittedGraph, TypedGraph
from facefusion.core.values import Pixels, Size, Tensor
from facefusion.memory.buffers import ThreadBuffers
from facefusion.vision.tiles import tiles


class SuperResolution:
    """Enlarges pictures by the whole factor of its network: ``input`` (1, 3, H, W) RGB 0..1 -> the same, larger.

    The card gives the numbers: ``scale`` (whole factor), ``consumed`` (border pixels that the network's unpadded
    convolutions eat on each side, in input pixels), ``margin`` (further neighbours each tile sees), ``tile`` (side of
    a tile, input pixels).

    Raises:
        ModelError: the entry lacks a number, or the graph does not fit.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._name = card.name
        self._graph = FittedGraph(card.name, graph, {"input": (1, 3, None, None)}, [(1, 3, None, None)])
        self._buffers = ThreadBuffers()
        self.scale = int(card.number("scale"))
        self._consumed = int(card.number("consumed"))
        self._margin = int(card.number("margin"))
        self._tile = int(card.number("tile"))

    def output_size(self, size: Size) -> Size:
        """Size of the enlarged picture."""
        return Size(size.width * self.scale, size.height * self.scale)

    def enlarge(self, pixels: Pixels) -> npt.NDArray[np.float32]:
        """Enlarge a picture.

        Args:
            pixels: height x width x 3, BGR, 0..255.

        Returns:
            float32, BGR, 0..255, ``scale`` times as high and wide.

        Raises:
            ModelError: the graph gives another size than it should.
            InferenceError: it gives values that are no numbers.
        """
        height, width = pixels.shape[:2]
        border = self._consumed + self._margin
        padded = cast("Pixels", np.pad(pixels, ((border, border), (border, border), (0, 0)), mode="edge"))
        result = np.empty((height * self.scale, width * self.scale, 3), np.float32)
        for left, top, right, bottom in tiles(Size(width, height), self._tile):
            part = padded[top : bottom + 2 * border, left : right + 2 * border]
            enlarged = self._run(part)
            cut = self._margin * self.scale
            inner = enlarged[cut : enlarged.shape[0] - cut, cut : enlarged.shape[1] - cut]
            result[top * self.scale : bottom * self.scale, left * self.scale : right * self.scale] = inner
        return result

    def _run(self, part: Pixels) -> npt.NDArray[np.float32]:
        planes = part[:, :, ::-1].transpose(2, 0, 1)
        tensor = self._buffers.take((1, *planes.shape), np.float32)
        np.multiply(planes, np.float32(1 / 255), out=tensor[0])
        output = self._enlarged(tensor)[0]
        pixels: npt.NDArray[np.float32] = output.transpose(1, 2, 0)[:, :, ::-1] * np.float32(255)
        return pixels.clip(0, 255, out=pixels)

    def _enlarged(self, tensor: Tensor) -> Tensor:
        output = self._graph.run({"input": tensor})[0]
        larger = tuple((side - 2 * self._consumed) * self.scale for side in tensor.shape[2:])
        if output.shape != (1, 3, *larger):
            raise ModelError(f"{self._name}: the graph gave {output.shape} for a tile of {tensor.shape}", WRONG_FILE)
        return output
