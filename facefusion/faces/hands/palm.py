"""Where hands are: MediaPipe's palm detector.

F. Zhang et al., "MediaPipe Hands: On-device Real-time Hand Tracking", 2020, arXiv:2006.10214. A palm is nearly
rigid and nearly square, so it is found where a whole hand would not be; the fingers are on one side of it.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import InferenceError
from facefusion.core.graph import NO_ANSWER, FittedGraph, TypedGraph
from facefusion.core.values import Pixels, Tensor
from facefusion.vision.boxes import suppress_overlaps
from facefusion.vision.geometry import SquareRegion, angle_between

INPUT = "input_1"
SIDE = 192
GRIDS = ((8, 2), (16, 6))
"""Pixels from cell to cell, and anchors in each cell. All anchors have the size of the picture."""
NUMBERS = 18
"""Of an anchor: middle and size of the box, then seven points."""
WRIST, MIDDLE_KNUCKLE = 0, 2
"""The points between which the hand lies along its box."""

LEAST_SCORE = 0.5
OVERLAP_LIMIT = 0.3
"""Two palms that overlap by more than this (intersection over union) are one."""

HAND_OVER_PALM = 2.6
"""Side of a hand over that of its palm."""
TOWARDS_FINGERS = 0.5
"""How far the middle of the hand lies from the palm's, in sides of the palm."""
FARTHEST = 10
"""Sides of the picture; no palm that is seen in it is larger, or has points further off."""


class PalmDetector:
    """Runs the graph ``input_1`` (1, 192, 192, 3) RGB 0..1 -> (1, 2016, 18) boxes and points, (1, 2016, 1) scores.

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self.side = int(card.number("input_size", SIDE))
        """Of the pictures that it takes, in pixels."""
        count = len(_anchors(self.side))
        shapes = [(1, count, NUMBERS), (1, count, 1)]
        self._name = card.name
        self._graph = FittedGraph(card.name, graph, {INPUT: (1, self.side, self.side, 3)}, shapes)

    def find(self, image: Pixels) -> list[SquareRegion]:
        """The square of each hand, upright with the fingers up, in pixels of the picture; the surest first.

        Args:
            image: side x side x 3, BGR.

        Raises:
            InferenceError: a hand lies nowhere near the picture, as where half precision overflows.
        """
        pictures = image[None, :, :, ::-1] * np.float32(1 / 255)
        numbers, logits = self._graph.run({INPUT: pictures})[:2]
        likely = np.flatnonzero(logits[0, :, 0] >= math.log(LEAST_SCORE / (1 - LEAST_SCORE)))
        found = numbers[0, likely]
        if float(np.abs(found).max(initial=0)) > FARTHEST * self.side:
            raise InferenceError(f"{self._name} found a hand far beyond what it was shown", NO_ANSWER)
        return _decoded(found, logits[0, likely, 0], _anchors(self.side)[likely])


def _decoded(numbers: Tensor, logits: Tensor, anchors: npt.NDArray[np.float32]) -> list[SquareRegion]:
    """Palms as squares of hands, without those that overlap a surer one.

    Args:
        numbers: n x 18, in pixels of the picture, all but the size relative to the anchor.
        logits: n, of being a palm.
        anchors: n x 2, where they are.
    """
    middles, sizes = numbers[:, :2] + anchors, numbers[:, 2:4]
    half = sizes * np.float32(0.5)
    points = numbers[:, 4:].reshape(-1, 7, 2) + anchors[:, None]
    boxes = np.concatenate((middles - half, middles + half), axis=1)
    kept = suppress_overlaps(boxes, logits, OVERLAP_LIMIT)
    return [_hand(middles[index], float(sizes[index].max()), points[index]) for index in kept if sizes[index].max() > 0]


def _hand(middle: Tensor, palm: float, points: Tensor) -> SquareRegion:
    along = angle_between(points[WRIST], points[MIDDLE_KNUCKLE])
    shift = TOWARDS_FINGERS * palm
    # Upright, the fingers point to where y falls: a quarter turn before the square's own x axis.
    return SquareRegion(
        float(middle[0]) + shift * math.cos(along),
        float(middle[1]) + shift * math.sin(along),
        HAND_OVER_PALM * palm,
        along + math.pi / 2,
    )


@cache
def _anchors(side: int) -> npt.NDArray[np.float32]:
    """Middles of the anchors in pixels of the picture, in the order of the outputs: n x 2."""
    grids = []
    for stride, times in GRIDS:
        cells = np.arange(side // stride, dtype=np.float32) * stride + np.float32(stride / 2 - 0.5)
        rows, columns = np.meshgrid(cells, cells, indexing="ij")
        grids.append(np.stack((columns, rows), axis=-1).reshape(-1, 2).repeat(times, axis=0))
    anchors = np.concatenate(grids)
    anchors.flags.writeable = False
    return anchors
