"""One face as the tracker knows it from frame to frame."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Box, Embedding, Face
from facefusion.faces.analyse import Measured, face_of_mesh
from facefusion.faces.belief import Belief
from facefusion.faces.landmark.base import EXPANSION, MeshReading, region_of_mesh
from facefusion.faces.landmark.points import FACE_POINTS, eye_distance
from facefusion.faces.recognise.base import similarity, unit
from facefusion.faces.smoothing import MeshSmoother
from facefusion.faces.traits import TraitVote
from facefusion.vision.boxes import enclosing_box
from facefusion.vision.geometry import SquareRegion, compose, invert

VIEW_SIDE = 16
VIEW_OVERSAMPLING = 4

STEADY_LIKENESS = 0.9
"""Correlation of two successive views of a face below which it may have become another's."""

BROKEN_LIKENESS = 0.5
"""Correlation below which the later view does not continue the earlier one."""

STARTLING = 3.0
"""How much less alike than usual two views must be to raise doubt, as a factor: blurred faces always change more."""

JUMP = 0.5
"""Of its longer side: a face that moved further in one frame is not the one that was there."""

LARGEST_GROWTH = 1.6
"""Factor by which a face cannot grow or shrink in one frame."""

LARGEST_SAMPLE_COUNT = 6
"""Views after which another one adds little to what is known of an identity."""

View = npt.NDArray[np.float32]
"""A face as a small grey picture of zero mean and unit length."""


@dataclass(slots=True)
class Identity:
    """Whose face it is, as far as is known."""

    number: int
    """The track's number to the outside."""
    embedding: Embedding | None = None
    samples: int = 0
    """Views that ``embedding`` is the mean of."""
    provisional: bool = False
    """``embedding`` comes from a view too poor to say much; the first good one takes its place."""
    vote: TraitVote = field(default_factory=TraitVote)

    def likeness(self, embedding: Embedding) -> float:
        """Cosine to a view; 0, a stranger's, where nothing is known."""
        return 0.0 if self.embedding is None else similarity(self.embedding, embedding)

    def learn(self, embedding: Embedding, *, poor: bool = False) -> None:
        """Add a view. A poor one counts only where nothing else is known."""
        if self.embedding is None or (self.provisional and not poor):
            self.embedding, self.provisional, self.samples = embedding, poor, 1
        elif not poor:
            if self.samples < LARGEST_SAMPLE_COUNT:
                self.embedding = unit(self.embedding * np.float32(self.samples) + embedding)
            self.samples += 1


@dataclass(slots=True)
class Track:
    """A face that is followed. Changed by the tracker alone."""

    identity: Identity
    reading: MeshReading
    score: float
    seen: float
    """Time of the last reading, in seconds."""
    box: Box = field(init=False)
    view: View = field(init=False)
    velocity: npt.NDArray[np.float32] = field(init=False)
    """Of the face's middle, in pixels a second."""
    confirmed: float = field(init=False)
    """Time at which the detector last found it, in seconds."""
    lost: bool = False
    doubted: bool = False
    """It may have come to lie on another person and must be recognised again."""
    broken: bool = False
    """The last reading did not continue the one before: there may be no face any more."""
    startled: bool = False
    """The last reading looks rather unlike the one before."""
    belief: Belief = field(default_factory=Belief)
    known: bool = False
    """It was given out once."""
    fresh: bool = True
    unrest: float = 0.0
    """Usual lack of likeness of successive views, 0..1."""
    smoother: MeshSmoother = field(default_factory=MeshSmoother)

    def __post_init__(self) -> None:
        self._place(self.reading)
        self.velocity = np.zeros(2, np.float32)
        self.confirmed = self.seen

    def region_at(self, time: float) -> SquareRegion:
        """Where the face should be at ``time`` if it keeps moving as it did."""
        region = region_of_mesh(self.reading.mesh)
        x, y = self.velocity * np.float32(time - self.seen)
        reach = region.side / 4
        x, y = np.clip(x, -reach, reach), np.clip(y, -reach, reach)
        return region._replace(x=region.x + float(x), y=region.y + float(y))

    def sides_to(self, box: Box) -> float:
        """How far the middle of ``box`` is from its own, in longer sides of the larger one."""
        gap = (box[:2] + box[2:] - self.box[:2] - self.box[2:]) / 2
        side = max(float((self.box[2:] - self.box[:2]).max()), float((box[2:] - box[:2]).max()))
        return float(np.hypot(*gap)) / max(side, 1e-6)

    def follow(self, reading: MeshReading, time: float) -> None:
        """Take the reading of the next frame; begin anew where it does not continue the last."""
        before, view = self.reading.mesh, self.view
        moved = reading.mesh[:FACE_POINTS, :2].mean(axis=0) - before[:FACE_POINTS, :2].mean(axis=0)
        growth = eye_distance(reading.mesh) / max(eye_distance(before), 1e-6)
        side = float((self.box[2:] - self.box[:2]).max())
        self._place(reading)
        likeness = float((self.view * view).sum())
        leapt = float(np.hypot(*moved)) > JUMP * side or not 1 / LARGEST_GROWTH < growth < LARGEST_GROWTH
        self.broken = leapt or likeness < BROKEN_LIKENESS
        self.startled = likeness < STEADY_LIKENESS and 1.0 - likeness > STARTLING * self.unrest
        self.unrest += 0.2 * (1.0 - likeness - self.unrest)
        self.doubted |= self.broken or self.startled
        if self.broken:
            self.velocity[:] = 0
            self.forget_motion()
        elif time > self.seen:
            self.velocity += np.float32(0.5) * (moved / np.float32(time - self.seen) - self.velocity)
        self.seen = time

    def restart(self, measured: Measured, time: float, *, stale: bool) -> None:
        """Take a place found anew; where ``stale``, nothing known of its movement applies any more."""
        self._place(measured.reading)
        self.score = measured.find.score
        self.velocity[:] = 0
        self.seen = self.confirmed = time
        self.lost = False
        if stale:
            self.forget_motion()

    def forget_motion(self) -> None:
        """Begin as if it had just appeared."""
        self.fresh = True
        self.smoother.reset()

    def become(self, identity: Identity) -> None:
        """Turn out to show somebody else."""
        self.identity = identity
        self.forget_motion()

    def face(self, time: float) -> Face:
        """The face in the present frame, steadied. Once per frame."""
        steady = self.reading._replace(mesh=self.smoother.smooth(self.reading.mesh, time))
        face, identity = face_of_mesh(steady, self.score), self.identity
        face = replace(
            face,
            embedding=identity.embedding,
            traits=identity.vote.traits,
            track=identity.number,
            fresh=self.fresh,
        )
        self.fresh, self.known = False, True
        return face

    def _place(self, reading: MeshReading) -> None:
        self.reading = reading
        self.box = enclosing_box(reading.mesh[:FACE_POINTS])
        self.view = view_of(reading)


def view_of(reading: MeshReading) -> View:
    """What a face looks like, regardless of where it is, and of brightness and contrast."""
    side = VIEW_SIDE * VIEW_OVERSAMPLING
    region = region_of_mesh(reading.mesh)
    frame_to_view = region._replace(side=region.side / EXPANSION).to_crop(side)
    crop_to_view = compose(frame_to_view, invert(reading.frame_to_crop))
    fine = cv2.warpAffine(reading.crop, crop_to_view, (side, side), borderMode=cv2.BORDER_REPLICATE)
    coarse = cv2.resize(fine, (VIEW_SIDE, VIEW_SIDE), interpolation=cv2.INTER_AREA)
    centred = cv2.cvtColor(coarse, cv2.COLOR_BGR2GRAY).astype(np.float32)
    centred -= centred.mean()
    view: View = centred / np.float32(max(float(np.linalg.norm(centred)), 1e-6))
    return view
