"""How faces are followed: trembling, lag, and who is seen in clips."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Frame, Landmarks478, Picture
from facefusion.core.wording import counted
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.landmark.base import region_of_mesh
from facefusion.faces.landmark.points import FACE_POINTS, eye_distance
from facefusion.faces.track import FaceTracker
from facefusion.media.image import read_image
from facefusion.media.probe import probe
from facefusion.media.reader import VideoReader
from scripts.face_chain.conditions import CANVAS, LEAST_SIDE, laid
from scripts.face_chain.table import Photo, Place, alone

RATE = 25
"""Frames a second of clips made here."""
STILL_FRAMES = 50
NOISE = 6.0
"""Standard deviation of a sensor's noise, in levels."""
QUALITIES = (18, 23, 30)
"""x264's constant rate factor."""
PHOTOS = 10
"""Photos that are made clips of, at most."""
SPEEDS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Eye distances a second."""
REST_FRAMES, MOVE_FRAMES = 15, 20
LEAST_FRAMES = 20
"""Frames in succession, of which a figure is worth printing."""

Points = npt.NDArray[np.float32]
"""Of one face over time: n x 468 x 2, in pixels."""


@dataclass(slots=True)
class Watched:
    """One person over time: meshes as the landmarker reads them, and as the tracker gives them."""

    frames: list[int] = field(default_factory=list)
    read: list[Landmarks478] = field(default_factory=list)
    given: list[Landmarks478] = field(default_factory=list)

    @property
    def size(self) -> float:
        """Distance of the eyes, in pixels."""
        return float(np.median([eye_distance(mesh) for mesh in self.read]))

    @property
    def both(self) -> tuple[Points, Points]:
        """As read, and as given."""
        return np.stack(self.read)[:, :FACE_POINTS, :2], np.stack(self.given)[:, :FACE_POINTS, :2]


def watch(frames: Iterable[Frame], analyser: FaceAnalyser) -> dict[int, Watched]:
    """Follow everybody. What the landmarker reads is read anew, where the face was in the frame before."""
    tracker, people = FaceTracker(analyser), dict[int, Watched]()
    for frame in frames:
        for face in tracker.observe(frame):
            if face.track is None or face.mesh is None:
                continue
            known = people.setdefault(face.track, Watched())
            around = known.given[-1] if known.given else face.mesh
            known.frames.append(frame.index)
            known.read.append(analyser.read(frame.picture, region_of_mesh(around)).mesh)
            known.given.append(face.mesh)
    return people


def trembling(meshes: Points, size: float) -> float:
    """Mean second difference of the points, in percent of the eyes' distance."""
    second = np.diff(meshes, 2, axis=0)
    return 100 * float(np.hypot(second[..., 0], second[..., 1]).mean()) / size


def wander(meshes: Points, size: float) -> float:
    """Root mean square distance of the points from their own mean, in percent of the eyes' distance."""
    gaps = meshes - meshes.mean(axis=0)
    return 100 * float(np.sqrt(np.square(gaps).sum(axis=-1).mean())) / size


def report_stills(photos: Iterable[Photo], analyser: FaceAnalyser) -> None:
    """Print how photos tremble that were made clips of, with noise and x264."""
    cases = [(read_image(photo.path), place) for photo, place in alone(photos, LEAST_SIDE)[:PHOTOS]]
    print(f"## Trembling of {counted(len(cases), 'photo')} made clips of, % of the eyes' distance\n")
    print("crf | as read: wander, second difference | as given: wander, second difference")
    for quality in QUALITIES:
        rows = []
        for picture, place in cases:
            with tempfile.TemporaryDirectory() as folder:
                clip = Path(folder) / "still.mp4"
                _encode(clip, laid(picture, place).picture.to_bgr().astype(np.uint8), quality)
                with VideoReader(probe(clip)) as reader:
                    people = watch(reader, analyser)
            for one in people.values():
                rows += [[measure(meshes, one.size) for meshes in one.both for measure in (wander, trembling)]]
        if rows:
            print(f"{quality:>3} | {'  '.join(f'{value:.2f}' for value in np.mean(rows, axis=0))}")
    print()


def report_moves(photos: Iterable[Photo], analyser: FaceAnalyser) -> None:
    """Print how far behind faces are that start at once, run and stop at once, by their speed."""
    cases = [(read_image(photo.path), place) for photo, place in alone(photos, LEAST_SIDE)[:PHOTOS]]
    print(
        f"## Lag of a face that starts and stops at once, at {RATE} frames/s; worst of {counted(len(cases), 'photo')}\n"
    )
    print("eye distances/s | px/frame | behind, px: as read, as given | % of the eyes' distance: as read, as given")
    for speed in SPEEDS:
        steps, worst = [0.0], np.zeros((2, 2))
        for picture, place in cases:
            people = watch(_moved(picture, place, [0.0]), analyser)
            for still in people.values():
                steps.append(speed * still.size / RATE)
                worst = np.maximum(worst, _lag(picture, place, steps[-1], analyser))
        (read, read_share), (given, given_share) = worst
        print(f"{speed:15.1f} | {max(steps):8.1f} | {read:.2f}  {given:.2f} | {read_share:.2f}  {given_share:.2f}")
    print()


def report_clips(clips: Iterable[Path], analyser: FaceAnalyser) -> None:
    """Print who is seen in clips, for how long, and how much they tremble."""
    print("## Clips; trembling (second difference) in % of the eyes' distance\n")
    for clip in clips:
        with VideoReader(probe(clip)) as reader:
            people = watch(reader, analyser)
        print(clip.name)
        for number, one in sorted(people.items()):
            line = f"{len(one.frames)} frames, {one.frames[0]} to {one.frames[-1]}, eyes {one.size:.0f} px apart"
            if len(one.frames) >= LEAST_FRAMES and one.frames[-1] - one.frames[0] < len(one.frames):
                read, given = (trembling(meshes, one.size) for meshes in one.both)
                line += f"; trembling {read:.2f} as read, {given:.2f} as given"
            print(f"  {number}: {line}")
    print()


def _lag(picture: Picture, place: Place, step: float, analyser: FaceAnalyser) -> npt.NDArray[np.float64]:
    """How far the head is off at worst, in pixels and in percent: as read, and as given."""
    moves = min(MOVE_FRAMES, int(CANVAS / 2 / step))
    way = step * np.clip(np.arange(-REST_FRAMES, moves + REST_FRAMES), 0, moves)
    worst = np.zeros((2, 2))
    for one in watch(_moved(picture, place, way - way[-1] / 2), analyser).values():
        read, given = one.both
        rest = np.median(read[:REST_FRAMES], axis=0)
        shift = (way - way[one.frames[0]])[one.frames]
        for row, meshes in enumerate((read, given)):
            off = np.median(meshes - rest, axis=1)
            off[:, 0] -= shift
            late = float(np.hypot(off[:, 0], off[:, 1]).max())
            worst[row] = np.maximum(worst[row], (late, 100 * late / one.size))
    return worst


def _encode(path: Path, still: npt.NDArray[np.uint8], quality: int) -> None:
    generator = np.random.default_rng(0)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE, options={"crf": str(quality), "preset": "medium"})
        stream.width, stream.height, stream.pix_fmt = still.shape[1], still.shape[0], "yuv420p"
        for _ in range(STILL_FRAMES):
            noisy = np.clip(still + generator.normal(0, NOISE, still.shape), 0, 255).astype(np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(noisy, "bgr24")))
        container.mux(stream.encode(None))


def _moved(picture: Picture, place: Place, way: Iterable[float]) -> Iterator[Frame]:
    """Frames in which the face stands so many pixels to the right of the middle."""
    pixel = place.side / laid(picture, place).side
    for index, gap in enumerate(way):
        box = place.box - np.array((gap * pixel, 0, gap * pixel, 0), np.float32)
        yield Frame(index, Fraction(index, RATE), laid(picture, Place(box, "")).picture)
