"""Networks that draw a face anew from an aligned crop: GFPGAN, CodeFormer, GPEN, RestoreFormer and their like.

The face is laid onto a template, goes through the network as RGB of -1..1, and comes back at the same size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import FittedGraph, SignedGraph
from facefusion.core.values import Pixels, Tensor
from facefusion.faces.aligned import AlignedFace, align, rounds, template_of
from facefusion.memory.buffers import ThreadBuffers
from facefusion.processors.base import Scene
from facefusion.processors.face_enhancer.families.base import Seam

INPUT = "input"
WEIGHT = "weight"


class Restoration:
    """Runs the graph ``input`` (n, 3, s, s) RGB -1..1 [, ``weight`` one number] -> first output (n, 3, s, s), the same.

    The card gives the numbers: ``input_size`` (s) and ``template``.

    Args:
        card: the model.
        graph: its graph.
        weight: what a graph with an input of that name is told: 0 clearest .. 1 most faithful.
        seam: bounds the change of a face.
        blend: share of the network's face in the result, 0..1.

    Raises:
        ModelError: the graph does not fit, or the catalogue names no template for it.
    """

    def __init__(self, card: ModelCard, graph: SignedGraph, weight: float, seam: Seam, blend: float) -> None:
        self._side = int(card.number("input_size"))
        self._template = template_of(card)
        shape = (1, 3, self._side, self._side)
        weighted = graph.signature.inputs.get(WEIGHT)
        # One number, which some graphs declare as a scalar and some as a row of one.
        one = () if weighted is None or weighted.shape == () else (1,)
        self._graph = FittedGraph(card.name, graph, {INPUT: shape}, [shape], {WEIGHT: one})
        self._others = {} if weighted is None else {WEIGHT: np.full(one, weight, np.float32)}
        self._seam = seam
        self._blend = np.float32(blend)
        self._buffers = ThreadBuffers()

    @property
    def weighted(self) -> bool:
        """Whether the graph is told the weight."""
        return bool(self._others)

    def enhance(self, scenes: Sequence[Scene]) -> None:
        """See :class:`~facefusion.processors.face_enhancer.families.base.EnhancerFamily`."""
        aligned = [[align(scene.picture, face, self._template, self._side) for face in scene.faces] for scene in scenes]
        for places in rounds(aligned):
            self._enhance_apart([aligned[place.picture][place.face] for place in places])

    def _enhance_apart(self, faces: Sequence[AlignedFace]) -> None:
        """Enhance faces whose crops do not overlap."""
        crops = [face.cut() for face in faces]
        restored = self._restored(self._tensor([crop.pixels for crop in crops]))
        for face, planes, mask in zip(faces, restored, self._seam(crops), strict=True):
            face.paste(self._pixels(planes, deep=face.picture.bit_depth > 8), mask * self._blend)

    def _tensor(self, crops: Sequence[Pixels]) -> Tensor:
        tensor = self._buffers.take((len(crops), 3, self._side, self._side), np.float32)
        for crop, planes in zip(crops, tensor, strict=True):
            np.multiply(crop[:, :, ::-1].transpose(2, 0, 1), np.float32(2 / 255), out=planes)
        tensor -= 1
        return tensor

    def _restored(self, tensor: Tensor) -> Tensor:
        """What the network makes of faces.

        Raises:
            ModelError: another shape than it should.
            InferenceError: values that are no numbers, as half precision may give where it overflows.
        """
        (restored,) = self._graph.run_rows(INPUT, tensor, self._others)
        return restored

    @staticmethod
    def _pixels(planes: Tensor, *, deep: bool) -> Pixels:
        """From RGB planes of -1..1 to BGR; whole levels unless ``deep``."""
        levels = (planes.clip(-1, 1) + 1) * np.float32(255 / 2)
        pixels = np.ascontiguousarray(levels[::-1].transpose(1, 2, 0))
        return pixels if deep else cast("Pixels", np.rint(pixels).astype(np.uint8))
