"""Following faces through a video."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from facefusion.core.values import Box, Embedding, Face, Frame, Picture
from facefusion.faces.analyse import (
    DISAGREEMENT_LIMIT,
    FaceAnalyser,
    Find,
    Measured,
    disagreement,
    face_of_mesh,
)
from facefusion.faces.cuts import CutFinder
from facefusion.faces.landmark.points import eye_distance, five_points
from facefusion.faces.tracked import LARGEST_SAMPLE_COUNT, Identity, Track
from facefusion.vision.boxes import box_overlap, intersection_over_union, pair_best_first

SAME_PLACE = 0.4
"""Overlap (intersection over union) from which two tracks lie on one face, or one face hides the other."""

TAKEN = 0.3
"""Overlap from which a find lies on a face that is followed already."""

TOUCHING = 0.05
"""Overlap from which two tracks may have taken each other's face."""

FAITH = 0.6
"""Share of the presence asked of a new face that is enough for a known one, lest a hand before it make it flicker."""

CALM = 0.1
"""Seconds between searches that are made only since a face changed its looks quickly."""

RETURN = 0.2
"""Seconds between searches for faces that were lost longer ago than patience lasts."""

REACH = 1.0
"""Of its longer side: how far a face that was lost may turn up from its last place, within one scene."""

SPEED = 4.0
"""The same for each second out of sight."""

FARTHEST = 3.0
"""The same at most. Whoever turns up further away has to be recognised with certainty."""

LOOKS = 2
"""Finds that are measured in one search, best scores first, for each face that may be followed: finds at other quarter
turns and on faces that are followed already are among them."""

STALE = 0.2
"""Seconds out of sight after which a face found again begins anew."""


@dataclass(frozen=True, slots=True)
class TrackerLimits:
    """How much the tracker does; the numbers trade time for completeness."""

    faces: int = 16
    """Most faces followed at once: each costs a pass of the landmarker per frame."""
    interval: float = 0.5
    """Seconds between searches for new faces while all known ones are followed."""
    patience: float = 0.5
    """Seconds during which a lost face is searched for in every frame."""
    credit: float = 3.0
    """Seconds for which a mesh alone is believed that it lies on a face, while the detector finds none there."""
    memory: float = 2.0
    """Seconds after which a lost face is forgotten. A person who returns later is a new track."""
    link: float = 0.2
    """Least overlap (intersection over union) of a found face with a track to be the same face."""


class FaceTracker:
    """Gives the faces of each frame, with the same number for the same face over time.

    Known faces are followed by the landmarker alone: it looks where the face should be by its last place and motion.
    The detector runs when a face is lost, when none is known, when a face changes abruptly, and now and then for
    newcomers. Frames must come in order; one thread.
    """

    def __init__(self, analyser: FaceAnalyser, limits: TrackerLimits = TrackerLimits()) -> None:
        self._analyser = analyser
        self._limits = limits
        self._likeness = analyser.likeness
        self._tracks: list[Track] = []
        self._next_number = 0
        self._searched = self._searched_turned = -math.inf
        self._upset = False
        self._cuts = CutFinder()
        self._began: float | None = None
        self._scene = -math.inf

    def observe(self, frame: Frame) -> tuple[Face, ...]:
        """The faces of the next frame, meshes steadied, oldest track first; what may be none is left out."""
        time, picture = float(frame.time), frame.picture
        if self._began is None:
            # At the very first frame nobody can have been lost before.
            self._began = time if frame.index > 0 else -math.inf
        if self._cuts.falls_before(picture):
            self._leave_scene(time)
        for track in self._active():
            self._follow(track, picture, time)
        self._separate(picture)
        if self._must_search(time):
            self._search(picture, time)
        self._tracks = [track for track in self._tracks if not track.lost or self._is_remembered(track, time)]
        return tuple(track.face(time) for track in self._active() if track.belief.held)

    def _is_remembered(self, track: Track, time: float) -> bool:
        return track.known and time - track.seen <= self._limits.memory

    def _active(self) -> list[Track]:
        return [track for track in self._tracks if not track.lost]

    def _lost(self) -> list[Track]:
        return [track for track in self._tracks if track.lost]

    def _leave_scene(self, time: float) -> None:
        """After a cut nobody is where they were; who they are is all that tells them."""
        self._scene = time
        for track in self._active():
            track.lost = True

    def _follow(self, track: Track, picture: Picture, time: float) -> None:
        reading = self._analyser.read(picture, track.region_at(time))
        if reading.presence < self._analyser.minimum_presence * FAITH:
            track.lost = True
        else:
            step = time - track.seen
            track.follow(reading, time)
            track.belief.hear(reading.presence, track.score, self._analyser.scores, step)
            if not track.belief.held:
                track.forget_motion()
            self._upset |= track.broken or (track.startled and time - self._searched > CALM)

    def _separate(self, picture: Picture) -> None:
        """Where two tracks came to lie on one face, keep the one it belongs to; remember who was near whom."""
        for first, second in combinations(self._active(), 2):
            if first.lost or second.lost:
                continue
            overlap = box_overlap(first.box, second.box)
            if overlap > TOUCHING:
                first.doubted = second.doubted = True
            if overlap > SAME_PLACE:
                view = self._analyser.recognise(picture, five_points(first.reading.mesh))
                loser = second if first.identity.likeness(view) >= second.identity.likeness(view) else first
                loser.lost = True

    def _must_search(self, time: float) -> bool:
        return (
            self._upset
            or not self._active()
            or _passed(self._searched, time, RETURN if self._awaits(time) else self._limits.interval)
            or any(time - track.seen <= self._limits.patience for track in self._lost())
        )

    def _awaits(self, time: float) -> bool:
        """Whether somebody may come back: who was lost, or was so when this began, as in the middle of a video."""
        return bool(self._lost()) or (self._began is not None and time - self._began <= self._limits.memory)

    def _search(self, picture: Picture, time: float) -> None:
        """Detect; confirm and recognise the faces that are followed; take up lost ones and newcomers."""
        self._searched, self._upset = time, False
        finds = self._analyser.detect(picture, thorough=False)
        active = self._active()
        links: dict[int, int] = {}
        if finds and active:
            boxes = np.stack([find.box for find in finds])
            overlaps = intersection_over_union(boxes, np.stack([track.box for track in active]))
            links = pair_best_first(overlaps, self._limits.link)
        for column, track in enumerate(active):
            if column not in links.values():
                track.lost |= track.broken or time - track.confirmed > self._limits.credit
        confirmed = [(active[column], finds[row]) for row, column in links.items()]
        for track, find in confirmed:
            self._confirm(track, find, picture, time)
        self._recognise(confirmed, picture)
        self._welcome([find for row, find in enumerate(finds) if row not in links], picture, time)

    def _confirm(self, track: Track, find: Find, picture: Picture, time: float) -> None:
        """Put a mesh that slid or leapt off its face back onto it."""
        track.score, track.confirmed = find.score, time
        track.belief.hear(track.reading.presence, find.score, self._analyser.scores, 0.0)
        gap = disagreement(track.reading, find)
        if gap <= DISAGREEMENT_LIMIT and not track.broken:
            return
        for measured in self._analyser.measure(picture, [find]):
            if disagreement(measured.reading, find) < gap:
                track.restart(measured, time, stale=True)
                track.doubted = True

    def _recognise(self, confirmed: Sequence[tuple[Track, Find]], picture: Picture) -> None:
        """Learn who the followed faces are; of the doubted ones, first ask whether they still are."""
        doubted: list[tuple[Track, Embedding]] = []
        for track, find in confirmed:
            wanted = track.doubted or track.identity.samples < LARGEST_SAMPLE_COUNT
            if not wanted or find.score < self._analyser.scores.sample:
                continue
            view = self._analyser.recognise(picture, find.points)
            if track.doubted:
                doubted.append((track, view))
            elif track.identity.likeness(view) >= self._likeness.same:
                self._learn(track, view, picture)
        if doubted:
            self._settle(doubted, picture)

    def _learn(self, track: Track, view: Embedding, picture: Picture, *, poor: bool = False) -> None:
        """Add a view to what is known of whom a track shows; and how they look, while that is not settled."""
        identity = track.identity
        identity.learn(view, poor=poor)
        if not identity.vote.settled:
            look = self._analyser.classify(picture, face_of_mesh(track.reading, track.score))
            if look is not None:
                identity.vote.hear(look)

    def _settle(self, doubted: Sequence[tuple[Track, Embedding]], picture: Picture) -> None:
        """Say for doubted tracks who they show: themselves, one another, someone who was lost, or someone new."""
        own = [track.identity for track, _ in doubted]
        known = own + [track.identity for track in self._lost()]
        likeness = np.array([[identity.likeness(view) for identity in known] for _, view in doubted], np.float32)
        pairs = pair_best_first(likeness, self._likeness.same)
        for row, (track, view) in enumerate(doubted):
            track.doubted = False
            taken = row in pairs.values()
            if (
                row not in pairs
                and not taken
                and (likeness[row, row] >= self._likeness.strangers or track.identity.provisional)
            ):
                if track.identity.provisional:
                    self._learn(track, view, picture)
                continue
            identity = known[pairs[row]] if row in pairs else self._new_identity()
            if identity is not track.identity:
                # Who was followed until now is out of sight, and may come back.
                gone = Track(track.identity, track.reading, track.score, track.seen, lost=True, known=track.known)
                self._tracks.append(gone)
                track.become(identity)
            self._learn(track, view, picture)
        shown = {id(track.identity) for track in self._active()}
        self._tracks = [track for track in self._tracks if not track.lost or id(track.identity) not in shown]

    def _welcome(self, finds: list[Find], picture: Picture, time: float) -> None:
        """Measure what is new in the picture, and take it up as a lost face found again or as a new one."""
        if len(self._active()) >= self._limits.faces:
            return
        unclear = any(find.score < self._analyser.scores.clear for find in finds) or not (finds or self._active())
        if unclear and _passed(self._searched_turned, time, self._limits.interval):
            finds = finds + self._analyser.detect_turned(picture)
            self._searched_turned = time
        most = LOOKS * self._limits.faces
        for measured in sorted(self._analyser.measure(picture, finds, most), key=_size, reverse=True):
            active = self._active()
            box = measured.face().box
            if len(active) >= self._limits.faces or any(box_overlap(box, track.box) > TAKEN for track in active):
                continue
            view = self._analyser.recognise(picture, measured.find.points)
            poor = measured.find.score < self._analyser.scores.sample
            track = self._lost_track(box, view, time, poor=poor)
            likeness = 0.0 if track is None else track.identity.likeness(view)
            recognised = track is not None and track.known and likeness >= self._likeness.certain
            if track is None:
                track = Track(self._new_identity(), measured.reading, measured.find.score, time)
                self._tracks.append(track)
            else:
                track.restart(measured, time, stale=time - track.seen > STALE or track.seen < self._scene)
            if likeness >= self._likeness.same or track.identity.embedding is None:
                self._learn(track, view, picture, poor=poor)
            track.belief.begin(measured.reading.presence, track.score, self._analyser.scores, known=recognised)
            track.doubted |= poor

    def _lost_track(self, box: Box, view: Embedding, time: float, *, poor: bool) -> Track | None:
        """The lost track that a found face continues: the same person's, or the one just lost at that place.

        A poor view, as of somebody who comes out from behind another, says little: there the place alone decides.
        Within a scene nobody leaps, and blurred strangers look alike to a recogniser: far away only certainty counts.
        """

        def fitness(track: Track) -> float:
            likeness, missed = track.identity.likeness(view), time - track.seen
            if track.seen < self._scene:
                return likeness
            believed = poor or (missed <= self._limits.patience and likeness >= self._likeness.strangers)
            if believed and box_overlap(box, track.box) > self._limits.link:
                return max(likeness, 0.0) + self._likeness.same
            far = track.sides_to(box) > min(REACH + SPEED * missed, FARTHEST)
            return likeness - self._likeness.certain + self._likeness.same if far else likeness

        best = max(self._lost(), key=fitness, default=None)
        return best if best is not None and fitness(best) >= self._likeness.same else None

    def _new_identity(self) -> Identity:
        self._next_number += 1
        return Identity(self._next_number - 1)


def _passed(since: float, time: float, step: float) -> bool:
    """Whether a multiple of ``step`` lies between: what happens then does not depend on where a segment begins."""
    return time - since > step or math.floor(time / step) > math.floor(since / step)


def _size(measured: Measured) -> float:
    return eye_distance(measured.reading.mesh)
