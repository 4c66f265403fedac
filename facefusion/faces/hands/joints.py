"""The joints of a hand: MediaPipe's hand landmarks. See :mod:`facefusion.faces.hands.palm` for the source."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import InferenceError
from facefusion.core.graph import NO_ANSWER, FittedGraph, TypedGraph
from facefusion.core.values import Picture, Size
from facefusion.vision.geometry import SquareRegion, angle_between, invert, lie_apart, square_around, transform_mesh

INPUT = "input_1"
SIDE = 224
JOINTS = 21
HALF_PIXEL = np.array((0.5, 0.5, 0.0), np.float32)

Joints: TypeAlias = npt.NDArray[np.float32]
"""Shape (21, 3): the wrist, then four joints of each finger from the thumb on, tips last; z as that of a face mesh."""

WRIST = 0
KNUCKLES = (5, 9, 13, 17)
"""Where the four fingers begin."""
PALM = (0, 1, 2, 3, 5, 6, 9, 10, 13, 14, 17, 18)
"""Joints that hold the hand's place, however the fingers are bent."""
HAND_OVER_PALM = 2.0
"""Side of the square around a hand over the extent of those."""
FARTHEST = 10
"""Sides of the crop; no joint of a hand that is seen in it lies further off."""


class HandReading(NamedTuple):
    """What was read from one place."""

    joints: Joints
    """In the picture."""
    presence: float
    """Probability that there is a hand, 0..1."""


class HandJoints:
    """Runs the graph ``input_1`` (1, 224, 224, 3) RGB 0..1 -> joints (1, 63), presence (1, 1).

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._name = card.name
        self._side = int(card.number("input_size", SIDE))
        inputs = {INPUT: (1, self._side, self._side, 3)}
        self._graph = FittedGraph(card.name, graph, inputs, [(1, 3 * JOINTS), (1, 1)])

    def read(self, picture: Picture, square: SquareRegion) -> HandReading:
        """Read the hand that fills a square of a picture, its fingers up.

        Raises:
            InferenceError: the joints can be no hand's.
        """
        frame_to_crop = square.to_crop(self._side)
        crop = picture.warp(frame_to_crop, Size(self._side, self._side))
        flat, presence = self._graph.run({INPUT: crop[None, :, :, ::-1] * np.float32(1 / 255)})[:2]
        joints = flat.reshape(JOINTS, 3)
        if not lie_apart(joints[list(PALM), :2]) or float(np.abs(joints).max()) > FARTHEST * self._side:
            raise InferenceError(f"{self._name} laid the joints of a hand on one spot, or nowhere", NO_ANSWER)
        # The network counts from the crop's edge: the middle of the first pixel is at 0.5.
        placed = transform_mesh(invert(frame_to_crop), joints - HALF_PIXEL)
        return HandReading(placed, float(presence[0, 0]))


def hand_square(joints: Joints) -> SquareRegion:
    """The square around a hand that was read once, in which it is read better.

    Raises:
        ValueError: the joints lie on one spot.
    """
    flat = joints[:, :2]
    # As a palm's: a quarter turn behind where the fingers point.
    angle = angle_between(flat[WRIST], flat[list(KNUCKLES)].mean(axis=0)) + np.pi / 2
    return square_around(flat[list(PALM)], float(angle), HAND_OVER_PALM)
