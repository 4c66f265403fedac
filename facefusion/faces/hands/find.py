"""Finding the hands that may lie over a face."""

from __future__ import annotations

import math

import numpy as np

from facefusion.core.values import Landmarks478, Picture, Size
from facefusion.faces.hands.joints import HandJoints, Joints, hand_square
from facefusion.faces.hands.palm import PalmDetector
from facefusion.faces.surface.square import CROP_MARGIN, face_square
from facefusion.vision.geometry import SquareRegion, invert, scale_of, transform_points

AROUND = 2.3
"""Side of the window in which hands are looked for, over that of the face's square: a hand is as long as a face."""
LEAST_PRESENCE = (0.5, 0.85)
"""What the first and the second reading of a hand must give.

In some 200 photos and frames with hands the second gave 0.9 and up but for a few blurred ones, and up to 0.84 for the
cheek of a man of 60 pixels, whom the first gave 0.77. A hand missed is painted over; one imagined leaves a hole.
"""


class HandFinder:
    """Finds hands near a face. Thread-safe.

    Args:
        palms: finds where they are.
        joints: reads them.
    """

    def __init__(self, palms: PalmDetector, joints: HandJoints) -> None:
        self._palms = palms
        self._joints = joints

    def near(self, picture: Picture, mesh: Landmarks478) -> list[Joints]:
        """The hands that reach to a face.

        Each is read twice, the second time where the first reading says, and must be sure both times: a fold of skin
        that passes for a palm, and once for a hand, does not do so again.

        Args:
            picture: that shows the face.
            mesh: of the face, in the picture.
        """
        square = face_square(mesh)
        window = square._replace(side=square.side * AROUND)
        to_window = window.to_crop(self._palms.side)
        side = Size(self._palms.side, self._palms.side)
        palms = self._palms.find(picture.warp(to_window, side))
        found = [_in_frame(hand, window, self._palms.side) for hand in palms]
        read = [self._read(picture, hand) for hand in found if _reaches(hand, square)]
        return [joints for joints in read if joints is not None]

    def _read(self, picture: Picture, square: SquareRegion) -> Joints | None:
        joints: Joints | None = None
        for least in LEAST_PRESENCE:
            joints, presence = self._joints.read(picture, square if joints is None else hand_square(joints))
            if presence < least:
                return None
        return joints


def _in_frame(hand: SquareRegion, window: SquareRegion, side: int) -> SquareRegion:
    """A square of the window as one of the frame."""
    to_frame = invert(window.to_crop(side))
    x, y = transform_points(to_frame, np.array((hand.x, hand.y)))
    return SquareRegion(float(x), float(y), hand.side * scale_of(to_frame), hand.angle + window.angle)


def _reaches(hand: SquareRegion, face: SquareRegion) -> bool:
    """Whether the two may meet, by the circles in the hand's square and around the length of the face."""
    return math.hypot(hand.x - face.x, hand.y - face.y) < (hand.side + face.side / CROP_MARGIN) / 2
