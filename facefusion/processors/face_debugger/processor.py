"""The face debugger: draws what the face analysis sees, and what masks let through, onto the frame."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

import cv2
import numpy as np

from facefusion.core.values import Affine, Box, Face, Frame, Landmarks5, Mask, Picture, Size
from facefusion.faces.landmark.points import aligned_points, five_of_sixty_eight, outline_points
from facefusion.faces.mask.base import NO_MASKS, OUTLINE_MASKS, FaceCrop, MaskUse
from facefusion.faces.mask.masker import FaceMasker
from facefusion.observability.events import EventSink, Notice
from facefusion.processors.base import ProcessorKind, Scene, Workshop
from facefusion.processors.face_debugger.settings import FaceDebuggerSettings
from facefusion.processors.face_debugger.sheet import Colour, Mark, Points, draw
from facefusion.vision.geometry import fit_template, invert, transform_points

DETECTED_COLOUR: Colour = (0, 0, 255)
"""Of what the detector gave."""
UPPER_SIDE_COLOUR: Colour = (100, 100, 255)
"""Of the box's side towards the forehead."""
READ_COLOUR: Colour = (0, 255, 0)
"""Of what rests on the 68 points: those, the five made of them, and masks laid by these."""
UNREAD_COLOUR: Colour = (255, 255, 0)
"""Of masks laid by the detector's five points, since there are no better ones."""
LINES_PER_BOX = 100
"""A line is this small a part of the width of a face's box."""

MASK_TEMPLATE = "arcface_128"
MASK_SIZE = Size(512, 512)
SHOWN = 100 / 255
"""From here on a mask counts as what is changed. All of these are FaceFusion's."""

FACE_MASK = "face-mask"
ESTIMATED_68 = "face-landmark-68/5"
ESTIMATED_COLOUR = UNREAD_COLOUR
"""Of the 68 points that are guessed from the detector's five."""


class FaceDebugger:
    """Draws the chosen items on every face.

    Args:
        items: values of ``--face-debugger-items``.
        masker: what masks of the item ``face-mask`` let through.
        events: told once where an item cannot be drawn.
    """

    name = "face_debugger"

    def __init__(self, items: Sequence[str], masker: FaceMasker, events: EventSink) -> None:
        self._items = frozenset(items)
        self._masker = masker
        self._events = events
        self._lock = threading.Lock()
        self._told = False

    def output_size(self, size: Size) -> Size:
        """Same as the input."""
        return size

    def observe(self, frame: Frame, faces: Sequence[Face]) -> None:
        """Nothing to learn from earlier frames."""

    def process(self, scenes: Sequence[Scene]) -> list[Picture]:
        """Draw on each face in place, once all of its frame have been looked at.

        Raises:
            FaceFusionError: a mask cannot be laid over a face.
        """
        for scene in scenes:
            masks = self._outlines(scene) if FACE_MASK in self._items else [[] for _ in scene.faces]
            if ESTIMATED_68 in self._items and any(face.estimate68 is None for face in scene.faces):
                self._tell_unestimated()
            for face, outlines in zip(scene.faces, masks, strict=True):
                width = float(face.box[2] - face.box[0])
                draw(scene.picture, self._marks(face, outlines), max(1, round(width / LINES_PER_BOX)))
        return [scene.picture for scene in scenes]

    def afresh(self) -> FaceDebugger:
        """Itself: nothing is kept from frame to frame."""
        return self

    def _tell_unestimated(self) -> None:
        with self._lock:
            if self._told:
                return
            self._told = True
        reason = "the landmarker in use reads the 68 points off the picture, with no estimate from the five before"
        remedy = "choose another --face-landmarker-model, and a --face-landmarker-score above 0"
        self._events.emit(Notice(f"face_debugger: {ESTIMATED_68} is not drawn: {reason}; {remedy}.", warning=True))

    def _outlines(self, scene: Scene) -> list[list[Points]]:
        """Around what all masks of each face let through, in the frame."""
        crops = [_crop(scene.picture, face) for face in scene.faces]
        before, after = self._masker.before_each(crops), self._masker.after_each(crops)
        return [
            list(_outlines(np.minimum(*masks), crop.frame_to_crop))
            for crop, *masks in zip(crops, before, after, strict=True)
        ]

    def _marks(self, face: Face, outlines: Sequence[Points]) -> list[Mark]:
        points = outline_points(face)
        marks: list[Mark] = []
        if "bounding-box" in self._items:
            marks += _box(face.box, face.landmarks5)
        marks += [Mark(line, UNREAD_COLOUR if points is None else READ_COLOUR, closed=True) for line in outlines]
        if "face-landmark-5" in self._items:
            marks.append(Mark(face.landmarks5, DETECTED_COLOUR))
        if face.estimate68 is not None and ESTIMATED_68 in self._items:
            marks.append(Mark(face.estimate68, ESTIMATED_COLOUR))
        if points is not None and "face-landmark-5/68" in self._items:
            marks.append(Mark(five_of_sixty_eight(points), READ_COLOUR))
        if points is not None and "face-landmark-68" in self._items:
            marks.append(Mark(points, READ_COLOUR))
        return marks


def _crop(picture: Picture, face: Face) -> FaceCrop:
    frame_to_crop = fit_template(aligned_points(face), MASK_TEMPLATE, MASK_SIZE.width)
    return FaceCrop(picture.warp(frame_to_crop, MASK_SIZE), face, frame_to_crop, picture)


def _outlines(mask: Mask, frame_to_crop: Affine) -> Iterator[Points]:
    lines, _ = cv2.findContours((mask >= SHOWN).astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    to_frame = invert(frame_to_crop)
    for line in lines:
        yield transform_points(to_frame, line[:, 0].astype(np.float32))


def _box(box: Box, five: Landmarks5) -> Iterator[Mark]:
    """The box, and over it the side that the eyes are nearer to than the mouth is."""
    left, top, right, bottom = box.tolist()
    corners = np.array(((left, top), (right, top), (right, bottom), (left, bottom)), np.float32)
    yield Mark(corners, DETECTED_COLOUR, closed=True)
    up = five[:2].mean(axis=0) - five[3:].mean(axis=0)
    outwards = np.array(((0, -1), (1, 0), (0, 1), (-1, 0)), np.float32)
    side = int((outwards @ up).argmax())
    yield Mark(corners[[side, (side + 1) % 4]], UPPER_SIDE_COLOUR, closed=False, bolder=1)


def _models(settings: FaceDebuggerSettings) -> Mapping[str, str]:
    return {}


def _build(workshop: Workshop) -> FaceDebugger:
    return FaceDebugger(workshop.settings.face_debugger_items, workshop.masker, workshop.events)


def _masks(settings: FaceDebuggerSettings) -> MaskUse:
    return OUTLINE_MASKS if FACE_MASK in settings.face_debugger_items else NO_MASKS


KIND = ProcessorKind(build=_build, models=_models, makes=None, masks=_masks)
