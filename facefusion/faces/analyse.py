"""All faces of one picture: found, measured and, where asked for, recognised."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from facefusion.core.values import Box, Embedding, Face, FaceTraits, Landmarks5, Picture
from facefusion.faces.belief import is_face
from facefusion.faces.classify.base import FaceClassifier
from facefusion.faces.detect.base import Detections, ScoreScale
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.landmark.base import FaceLandmarker, MeshReading, region_of_detection, region_of_mesh
from facefusion.faces.landmark.points import FACE_POINTS, aligned_points, eye_distance, five_points
from facefusion.faces.landmark.refine import OutlineRefiner
from facefusion.faces.recognise.base import FaceRecogniser, LikenessScale
from facefusion.observability.stages import staged
from facefusion.vision.boxes import enclosing_box, suppress_overlaps
from facefusion.vision.geometry import SquareRegion

logger = logging.getLogger(__name__)

QUARTER_TURNS = (0, 90, 180, 270)

DISAGREEMENT_LIMIT = 0.5
"""Mean distance between the five points of mesh and detector, in eye distances, at which the mesh lies on something
else. True finds had up to 0.25, wrong turns 0.1 to 0.8."""

MOST_FINDS = 256
"""Finds of one picture whose meshes are read, best scores first. A crowd has fewer faces that are large enough to be
found, and a detector that takes everything for faces, or was told to by a score of 0, gives thousands; each costs two
passes of the mesh, 50 ms on two cores."""

OVERLAP_LIMITS = (0.4, 0.3, 0.2, 0.1)
"""Meshes whose boxes overlap by more than this (intersection over union) lie on one face; by how many quarter turns
were asked for, from 1."""


class Find(NamedTuple):
    """One face as the detector gave it."""

    box: Box
    score: float
    points: Landmarks5


class Measured(NamedTuple):
    """A find whose mesh was read and believed."""

    find: Find
    reading: MeshReading
    quality: float
    """Detector's score less the disagreement of mesh and detector; ranks finds of one face at several angles."""

    def face(self) -> Face:
        """The face it stands for, without identity."""
        return face_of_mesh(self.reading, self.find.score)


def face_of_mesh(reading: MeshReading, score: float) -> Face:
    """A face whose box and five points come from its mesh, so that they move as smoothly as it does."""
    mesh = reading.mesh
    return Face(enclosing_box(mesh[:FACE_POINTS]), score, five_points(mesh), mesh, reading.presence)


class FaceAnalyser:
    """Detector, landmarker, recogniser and, where one is wanted, classifier as one.

    Args:
        search: finds faces.
        landmarker: reads their meshes.
        recogniser: tells whose they are.
        minimum_presence: 0..1; a mesh less sure than this to lie on a face is dropped.
        angles: quarter turns, in degrees counter-clockwise, at which to look in any case.
        classifier: tells what people look like; none where nobody asks.
        refiner: reads the 68 points of the faces that are worked on; none where their meshes give them.
    """

    def __init__(
        self,
        search: FaceSearch,
        landmarker: FaceLandmarker,
        recogniser: FaceRecogniser,
        minimum_presence: float = 0.5,
        angles: Sequence[int] = (0,),
        classifier: FaceClassifier | None = None,
        refiner: OutlineRefiner | None = None,
    ) -> None:
        self.minimum_presence = minimum_presence
        self._search = search
        self._landmarker = landmarker
        self._recogniser = recogniser
        self._classifier = classifier
        self._refiner = refiner
        self._angles = tuple(angles)
        self._overlap_limit = OVERLAP_LIMITS[len(set(self._angles)) - 1]
        self._other_angles = tuple(angle for angle in QUARTER_TURNS if angle not in angles)

    @property
    def scores(self) -> ScoreScale:
        """What the detector's scores mean."""
        return self._search.scores

    @property
    def likeness(self) -> LikenessScale:
        """What the recogniser's cosines mean."""
        return self._recogniser.likeness

    def faces(self, picture: Picture, *, recognise: bool, classify: bool = False) -> tuple[Face, ...]:
        """Every face of a picture on its own, best score first; faces that lie sideways or upside down too.

        Args:
            picture: only read.
            recognise: whether to say whose they are.
            classify: whether to say what they look like, where there is a classifier.
        """
        measured = [
            one
            for one in self.measure(picture, self.detect(picture, thorough=True))
            if is_face(one.reading.presence, one.find.score, self.scores)
        ]
        return tuple(
            replace(
                face := one.face(),
                embedding=self.recognise(picture, one.find.points) if recognise else None,
                traits=self.classify(picture, face) if classify else None,
            )
            for one in measured
        )

    @staged("detect")
    def detect(self, picture: Picture, *, thorough: bool) -> list[Find]:
        """What the detector finds at the angles asked for; where ``thorough``, at the others too if there is doubt."""
        found = _finds(self._search.find(picture, self._angles))
        if thorough and self._other_angles and (not found or min(find.score for find in found) < self.scores.clear):
            found += self.detect_turned(picture)
        return found

    @staged("detect")
    def detect_turned(self, picture: Picture) -> list[Find]:
        """What the detector finds at the quarter turns that :meth:`detect` leaves out."""
        if not self._other_angles:
            return []
        found = _finds(self._search.find(picture, self._other_angles))
        return [find for find in found if find.score >= self.scores.turned]

    @staged("landmarks")
    def measure(self, picture: Picture, finds: Sequence[Find], most: int = MOST_FINDS) -> list[Measured]:
        """Read the mesh of each find; drop those not believed, and all but the best on one face. Best first.

        Args:
            picture: only read.
            finds: of the detector, in any order.
            most: how many meshes are read; of more finds those with the best scores.
        """
        if len(finds) > most:
            logger.info("Of %d finds in one picture the best %d are looked at", len(finds), most)
            finds = sorted(finds, key=lambda find: -find.score)[:most]
        measured = [one for find in finds if (one := self._measure_one(picture, find)) is not None]
        if not measured:
            return []
        boxes = np.stack([enclosing_box(one.reading.mesh[:FACE_POINTS]) for one in measured])
        qualities = np.array([one.quality for one in measured], np.float32)
        return [measured[index] for index in suppress_overlaps(boxes, qualities, self._overlap_limit)]

    @staged("landmarks")
    def read(self, picture: Picture, region: SquareRegion) -> MeshReading:
        """One pass of the landmarker, for a face whose place is known."""
        return self._landmarker.read(picture, region)

    @staged("recognise")
    def recognise(self, picture: Picture, points: Landmarks5) -> Embedding:
        """Whose face it is. Tells people apart a little better with the detector's points than with the mesh's."""
        return self._recogniser.embed(picture, points)

    @staged("classify")
    def classify(self, picture: Picture, face: Face) -> FaceTraits | None:
        """What a person looks like; none without a classifier."""
        return None if self._classifier is None else self._classifier.classify(picture, aligned_points(face))

    def refine(self, picture: Picture, faces: Sequence[Face]) -> Sequence[Face]:
        """The same faces, laid out by a landmarker of their own where there is one. For those that are worked on."""
        return self.refine_each([picture], [faces])[0]

    @staged("landmarks")
    def refine_each(self, pictures: Sequence[Picture], faces: Sequence[Sequence[Face]]) -> Sequence[Sequence[Face]]:
        """:meth:`refine` for several pictures at once."""
        return faces if self._refiner is None else self._refiner.refine_each(pictures, faces)

    def _measure_one(self, picture: Picture, find: Find) -> Measured | None:
        first = self._landmarker.read(picture, region_of_detection(find.box, find.points))
        # The mesh tells better than the detector's box where the face is: a second look is framed as in training.
        reading = self._landmarker.read(picture, region_of_mesh(first.mesh))
        gap = disagreement(reading, find)
        if reading.presence < self.minimum_presence or not gap < DISAGREEMENT_LIMIT:
            return None
        return Measured(find, reading, find.score - gap)


def disagreement(reading: MeshReading, find: Find) -> float:
    """Mean distance between the five points of mesh and detector, in eye distances."""
    gaps = five_points(reading.mesh) - find.points
    return float(np.hypot(gaps[:, 0], gaps[:, 1]).mean()) / max(eye_distance(reading.mesh), 1e-6)


def _finds(found: Detections) -> list[Find]:
    return [Find(box, float(score), points) for box, score, points in zip(*found, strict=True)]
