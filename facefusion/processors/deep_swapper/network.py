"""DeepFaceLab's exported models: a network that was trained on one person puts that person's face on any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.graph import FittedGraph, SignedGraph
from facefusion.core.values import Mask, Pixels
from facefusion.core.wording import counted

FACE = "in_face:0"
MORPH = "morph_value:0"
TEMPLATE = "dfl_whole_face"
NO_DFM = "It is no DFM file as DeepFaceLab exports it: choose another model."

LEAST_SIDE = 64
"""Of crops, in pixels: the smallest that DeepFaceLab trains. On much smaller ones no face can be laid."""

SHARPEN = 1.75
"""Weight of the crop in the mix of it and its blur that the network sees."""
SHARPEN_SIGMA = 2.0
"""In pixels."""
SHRINK_TIMES = 2
"""How often a pixel is taken off the network's mask."""
SOFTEN_SIGMA = 6.25
"""In pixels."""

Levels = npt.NDArray[np.float32]


class DrawnFace(NamedTuple):
    """What the network makes of one face."""

    pixels: Levels
    """Side x side x 3, BGR, 0..255."""
    mask: Mask
    """Where both the face that was there and the one that was drawn are, with a soft edge."""


class DeepFace:
    """Runs a graph ``in_face:0`` (n, s, s, 3) BGR 0..1 [, ``morph_value:0`` one number] -> mask, face, mask.

    Outputs are read by position: where the face was (n, s, s, 1), the new face (n, s, s, 3) BGR 0..1, where that is
    (n, s, s, 1). Thread-safe.

    Args:
        card: the model.
        graph: its graph.
        morph: what a graph with such an input is told: 0 the target's face .. 1 the person's.

    Raises:
        ModelError: the graph does not fit.
    """

    def __init__(self, card: ModelCard, graph: SignedGraph, morph: float) -> None:
        self._name = card.name
        self.side = _side(card.name, graph)
        """Of its crops, in pixels."""
        morphing = graph.signature.inputs.get(MORPH)
        # One number: some exporters declare a row of one for it, some a scalar.
        one: tuple[int, ...] = () if morphing is not None and morphing.shape == () else (1,)
        face = (1, self.side, self.side, 3)
        try:
            self._graph = FittedGraph(card.name, graph, {FACE: face}, [None, None, None], {MORPH: one})
        except ModelError as error:
            # The file may be the user's own, which cannot be fetched again.
            raise ModelError(error.fault, NO_DFM) from error
        self._others = {} if morphing is None else {MORPH: np.full(one, morph, np.float32)}

    @property
    def morphs(self) -> bool:
        """Whether the graph can go only part of the way."""
        return bool(self._others)

    def draw(self, crops: Sequence[Pixels]) -> list[DrawnFace]:
        """The person's face in place of each face.

        Args:
            crops: :attr:`side` x :attr:`side` pixels each; no more than
                :func:`~facefusion.core.graph.in_runs` gives together.

        Raises:
            ModelError: the graph gives other shapes than it should.
            InferenceError: it gives values that are no numbers.
        """
        rows = np.stack([_sharpened(crop) for crop in crops])
        rows /= np.float32(255)
        before, faces, after = self._graph.run_rows(FACE, rows, self._others)
        count, area = len(crops), (self.side, self.side)
        if faces.shape != (count, *area, 3) or any(mask.size != count * self.side**2 for mask in (before, after)):
            raise ModelError(
                f"{self._name}: the graph gave {before.shape}, {faces.shape} and {after.shape} for {rows.shape}",
                "A DFM file gives a mask, a face and a mask of the size that it takes: export or fetch it again.",
            )
        masks = np.minimum(before.reshape(count, *area), after.reshape(count, *area))
        levels = np.clip(faces * np.float32(255), 0, 255)
        return [DrawnFace(pixels, _softened(mask)) for pixels, mask in zip(levels, masks, strict=True)]


def _side(name: str, graph: SignedGraph) -> int:
    """Side of the crops that the graph declares, of those that can be.

    Raises:
        ModelError: it declares none, or one that no face fits on.
    """
    value = graph.signature.inputs.get(FACE)
    # The width: where colours come first, the message names the size that is meant.
    side = value.shape[2] if value is not None and len(value.shape) == 4 else None
    if side is None:
        raise ModelError(f"{name}: the graph does not say the size of an input {FACE}", NO_DFM)
    if side < LEAST_SIDE:
        raise ModelError(
            f"{name}: the graph takes faces of {counted(side, 'pixel')} by {side}, and the least is {LEAST_SIDE}",
            NO_DFM,
        )
    return side


def _sharpened(crop: Pixels) -> Levels:
    """The crop as ``float32`` with its contours stressed, within 0..255."""
    levels = crop.astype(np.float32)
    soft = cv2.GaussianBlur(levels, (0, 0), SHARPEN_SIGMA)
    return np.asarray(np.clip(cv2.addWeighted(levels, SHARPEN, soft, 1 - SHARPEN, 0), 0, 255), np.float32)


def _softened(mask: Mask) -> Mask:
    """The mask without its rim, and with a soft edge in place of it."""
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 3))
    inner = cv2.erode(np.clip(mask, 0, 1), kernel, iterations=SHRINK_TIMES)
    return np.asarray(cv2.GaussianBlur(inner, (0, 0), SOFTEN_SIGMA), np.float32)
