"""The face debugger: draws what the face analysis sees onto the frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Face, Frame, Mask, Picture, Size
from facefusion.faces.landmark.points import FACE_OVAL, five_of_sixty_eight, outline_points
from facefusion.observability.events import Notice
from facefusion.processors.base import ProcessorKind, Scene, Workshop
from facefusion.processors.face_debugger.settings import FaceDebuggerSettings

Colour: TypeAlias = tuple[int, int, int]
"""BGR."""

Points: TypeAlias = npt.NDArray[np.float32]
"""n x 2."""

BOX_COLOUR: Colour = (255, 255, 255)
DETECTED_COLOUR: Colour = (0, 0, 255)
"""Of points that the detector gave."""
OUTLINE_COLOUR: Colour = (0, 255, 0)
"""Of the 68 points, and of the five made of them."""
MASK_COLOUR: Colour = (255, 255, 0)
SUBPIXEL_BITS = 4
MARGIN = 4
"""Pixels drawn around the outermost mark."""

ESTIMATED_68 = "face-landmark-68/5"


class FaceDebugger:
    """Draws the chosen items on every face."""

    name = "face_debugger"

    def __init__(self, items: Sequence[str]) -> None:
        self._items = frozenset(items)

    def output_size(self, size: Size) -> Size:
        """Same as the input."""
        return size

    def observe(self, frame: Frame, faces: Sequence[Face]) -> None:
        """Nothing to learn from earlier frames."""

    def process(self, scenes: Sequence[Scene]) -> list[Picture]:
        """Draw on each face in place."""
        for scene in scenes:
            for face in scene.faces:
                self._draw(scene.picture, face)
        return [scene.picture for scene in scenes]

    def _draw(self, picture: Picture, face: Face) -> None:
        sheet = _Sheet(picture, face)
        if "bounding-box" in self._items:
            left, top, right, bottom = face.box.tolist()
            corners = np.array(((left, top), (right, top), (right, bottom), (left, bottom)), np.float32)
            sheet.outline(corners, BOX_COLOUR)
        if face.mesh is not None and "face-mask" in self._items:
            sheet.outline(face.mesh[FACE_OVAL, :2], MASK_COLOUR)
        if "face-landmark-5" in self._items:
            sheet.dots(face.landmarks5, DETECTED_COLOUR)
        points = outline_points(face)
        if points is not None and "face-landmark-5/68" in self._items:
            sheet.dots(five_of_sixty_eight(points), OUTLINE_COLOUR)
        if points is not None and "face-landmark-68" in self._items:
            sheet.dots(points, OUTLINE_COLOUR)
        sheet.paste()

    def afresh(self) -> FaceDebugger:
        """Itself: nothing is kept from frame to frame."""
        return self


class _Sheet:
    """A transparent sheet over the part of the picture that one face takes."""

    def __init__(self, picture: Picture, face: Face) -> None:
        points = np.concatenate((face.box.reshape(2, 2), face.landmarks5))
        if face.mesh is not None:
            points = np.concatenate((points, face.mesh[:, :2]))
        if face.landmarks68 is not None:
            points = np.concatenate((points, face.landmarks68))
        self._thickness = max(1, round(float(np.ptp(points[:, 0])) / 100))
        margin = MARGIN + 2 * self._thickness
        low = np.floor(points.min(axis=0)).astype(int) - margin
        high = np.ceil(points.max(axis=0)).astype(int) + margin + 1
        low, high = np.maximum(low, 0), np.minimum(high, picture.size)
        self._picture = picture
        self._shift = low.astype(np.float32)
        width, height = (int(length) for length in np.maximum(high - low, 1))
        self._pixels = np.zeros((height, width, 3), np.uint8)
        self._ink = np.zeros((height, width), np.uint8)

    def outline(self, points: Points, colour: Colour) -> None:
        corners = [self._fixed(points)]
        for image, value in ((self._pixels, colour), (self._ink, (255,))):
            cv2.polylines(image, corners, True, value, self._thickness, cv2.LINE_8, SUBPIXEL_BITS)

    def dots(self, points: Points, colour: Colour) -> None:
        radius = self._thickness << SUBPIXEL_BITS
        for x, y in self._fixed(points).tolist():
            for image, value in ((self._pixels, colour), (self._ink, (255,))):
                cv2.circle(image, (x, y), radius, value, cv2.FILLED, cv2.LINE_8, SUBPIXEL_BITS)

    def paste(self) -> None:
        mask: Mask = (self._ink > 0).astype(np.float32)
        x, y = (float(value) for value in self._shift)
        self._picture.paste(self._pixels, mask, np.array(((1.0, 0.0, -x), (0.0, 1.0, -y))))

    def _fixed(self, points: Points) -> npt.NDArray[np.int32]:
        fixed: npt.NDArray[np.int32] = np.rint((points - self._shift) * (1 << SUBPIXEL_BITS)).astype(np.int32)
        return fixed


def _models(settings: FaceDebuggerSettings) -> Mapping[str, str]:
    return {}


def _build(workshop: Workshop) -> FaceDebugger:
    items = workshop.settings.face_debugger_items
    if ESTIMATED_68 in items:
        reason = "the embedded landmarker measures all 68 points and estimates none from the five"
        workshop.events.emit(Notice(f"face_debugger: {ESTIMATED_68} is not drawn: {reason}.", warning=True))
    return FaceDebugger(items)


KIND = ProcessorKind(build=_build, models=_models)
