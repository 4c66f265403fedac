"""Reading the 68 points of chosen faces with a landmarker made for them.

The dense mesh finds and follows faces; where the user chose another landmarker, it is this one's points that the faces
which are worked on are laid out by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from facefusion.core.graph import in_runs
from facefusion.core.values import Face, Landmarks68, Picture
from facefusion.faces.landmark.base import OutlineReader
from facefusion.faces.landmark.estimate import OutlineEstimator
from facefusion.faces.landmark.points import five_of_sixty_eight, outline_points
from facefusion.faces.landmark.upright import SIDE, UprightCrop, quarter_turn, upright_crop, with_forehead
from facefusion.faces.smoothing import PointSmoother
from facefusion.vision.geometry import invert, transform_points


class OutlineRefiner:
    """Gives faces 68 points of their own, and keeps what was guessed of them to tell the turn. Thread-safe.

    A face of which the landmarker is not sure keeps the points of its mesh; one without a mesh gets an estimate.

    Args:
        reader: the landmarker.
        estimator: tells how a face is turned.
        minimum_confidence: 0..1, how sure the landmarker must be, and a little more.
    """

    def __init__(self, reader: OutlineReader, estimator: OutlineEstimator, minimum_confidence: float) -> None:
        self._reader = reader
        self._estimator = estimator
        self._minimum_confidence = minimum_confidence

    def refine(self, picture: Picture, faces: Sequence[Face]) -> list[Face]:
        """The same faces in order, with 68 points where they could be read."""
        return self.refine_each([picture], [faces])[0]

    def refine_each(self, pictures: Sequence[Picture], faces: Sequence[Sequence[Face]]) -> list[list[Face]]:
        """:meth:`refine` for several pictures, whose faces go through the graphs together."""
        all_of_them = [(picture, face) for picture, some in zip(pictures, faces, strict=True) for face in some]
        refined: list[Face] = []
        for together in in_runs(all_of_them, SIDE, SIDE):
            refined += self._refined(together)
        each = iter(refined)
        return [[next(each) for _ in some] for some in faces]

    def _refined(self, faces: Sequence[tuple[Picture, Face]]) -> list[Face]:
        estimates = self._estimator.estimate([face.landmarks5 for _, face in faces])
        crops = [_crop(picture, face, estimate) for (picture, face), estimate in zip(faces, estimates, strict=True)]
        refined = []
        readings = self._reader.read([crop.pixels for crop in crops])
        for (_, face), estimate, crop, reading in zip(faces, estimates, crops, readings, strict=True):
            points: Landmarks68 | None = None if face.mesh is not None else estimate
            if reading.confidence > self._minimum_confidence:
                points = transform_points(invert(crop.frame_to_crop), reading.points.astype(np.float64)).astype(
                    np.float32
                )
            refined.append(replace(face, landmarks68=points, estimate68=estimate))
        return refined


def _crop(picture: Picture, face: Face, estimate: Landmarks68) -> UprightCrop:
    """What a landmarker sees of a face. Those who made them had the box of a detector in mind."""
    turn = quarter_turn(estimate)
    return upright_crop(picture, face.box if face.mesh is None else with_forehead(face.box, turn), turn)


class OutlineSmoother:
    """Steadies the 68 points of followed faces as their meshes are. Frames must come in order; one thread.

    Where the landmarker loses confidence in a face, or regains it, the points glide to those of the mesh and back.
    """

    def __init__(self) -> None:
        self._tracks: dict[int, PointSmoother] = {}

    def smooth(self, faces: Sequence[Face], time: float) -> list[Face]:
        """The same faces, steadied; ``time`` is the frame's, in seconds."""
        seen: dict[int, PointSmoother] = {}
        steadied = []
        for face in faces:
            points = outline_points(face) if face.track in self._tracks else face.landmarks68
            if points is not None and face.track is not None:
                smoother = PointSmoother() if face.fresh else self._tracks.get(face.track, PointSmoother())
                left, right = five_of_sixty_eight(points)[:2]
                points = smoother.smooth(points, time, float(np.hypot(*(right - left))))
                seen[face.track] = smoother
                face = replace(face, landmarks68=points)  # noqa: PLW2901 - the same face, steadied
            steadied.append(face)
        self._tracks = seen
        return steadied
