"""What is learned from each frame in order, and smoothed over time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from facefusion.core.values import Affine, Face, Frame, Landmarks478, Picture, Size
from facefusion.faces.surface import atlas
from facefusion.faces.surface.square import face_square
from facefusion.faces.surface.survey import SIDE as SURVEYED
from facefusion.faces.surface.survey import Survey, survey
from facefusion.faces.surface.tone import lab_to_tone
from facefusion.processors.face_swapper.families.mesh.geometry import (
    Shifts,
    eye_openings,
    mouth_gap,
    mouth_state,
    proportion_shifts,
    spread_of_shifts,
)
from facefusion.processors.face_swapper.families.mesh.identity import MeshIdentity
from facefusion.processors.face_swapper.families.mesh.light import FIELD, Light, measure_light
from facefusion.processors.face_swapper.families.mesh.sharpness import (
    Finish,
    fineness_of,
    middle_of,
    texture_density,
)
from facefusion.vision.filters import Map, Marks, quantise, resize, smooth_ramp, smooth_step
from facefusion.vision.geometry import transform_mesh

CROP_SIZES = (96, 128, 192, 256, 384)
"""Sides of the crop that is worked on: the smallest that is hardly coarser than the frame, or the largest.

The largest is what keeps a face that fills a 4K frame within one and a half times the work of one that fills 720p; it
shows a little less than the source texture holds.
"""

LIDS_MEET = (0.08, 0.17)
"""Openings of an eye, height over width, between which it counts as ever less closed."""

LIGHT_SETTLES = 0.028
GAIN_SETTLES = 0.09
SHAPE_SETTLES = 0.15
COVER_SETTLES = 0.1
FINISH_SETTLES = 0.15
"""Seconds after which a change has come through by 63 %."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One face of one frame, measured."""

    frame_to_crop: Affine
    size: int
    """Side of the crop."""
    mesh: Landmarks478
    """In crop pixels."""
    shifts: Shifts
    """Towards the source's proportions, in crop pixels."""
    light: Light
    uncovered: Marks
    """255 where the target's skin is bare, 0 where something lies over it; unwrapped, as large as a survey."""
    mouth_gap: float
    """In eye distances."""
    closed: tuple[float, float]
    """How closed each eye is (image's left, right), 0 .. 1."""
    mismatch: float
    """How far the mouth's expression is from the source's, 0 .. 1."""
    finish: Finish
    """How soft and how smooth the source is rendered."""


@dataclass(slots=True)
class Track:
    """What is remembered of one face from frame to frame. Shifts are kept in crop sides."""

    time: Fraction
    size: int
    light: Light
    shifts: Shifts
    uncovered: Map
    finish: Finish

    def towards(self, now: Track) -> Track:
        """What is remembered once the face was measured again: each measurement is followed at its own pace."""
        passed = float(now.time - self.time)
        light = Light(
            _settle(self.light.field, now.light.field, passed, LIGHT_SETTLES),
            _settle(self.light.gain, now.light.gain, passed, GAIN_SETTLES),
            now.light.grey,
        )
        return Track(
            now.time,
            now.size,
            light,
            _settle(self.shifts, now.shifts, passed, SHAPE_SETTLES),
            _settle(self.uncovered, now.uncovered, passed, COVER_SETTLES),
            self.finish.towards(now.finish, _share(passed, FINISH_SETTLES)),
        )


def observe(
    frame: Frame, face: Face, mesh: Landmarks478, identity: MeshIdentity, shape: float, track: Track | None
) -> tuple[Observation, Track]:
    """Measure a face.

    Args:
        frame: untouched.
        face: tracked.
        mesh: of the face, in frame pixels.
        identity: of the source.
        shape: share of the source's proportions, 0 .. 1.
        track: what was remembered, or none for a face just met.
    """
    square = face_square(mesh)
    size = _crop_size(square.side, track.size if track else None)
    frame_to_crop = square.to_crop(size)
    placed = transform_mesh(frame_to_crop, mesh.astype(np.float32))
    shifts = proportion_shifts(identity.mesh, placed, shape) / np.float32(size)
    looked = survey(frame.picture, mesh)
    light = _light(looked, identity)
    finish = _finish(frame.picture, frame_to_crop, size, placed, identity, float(light.gain[0]))
    now = Track(frame.time, size, light, shifts, looked.bare, finish)
    track = now if track is None else track.towards(now)
    difference = float(np.linalg.norm(mouth_state(mesh) - identity.mouth))
    return (
        Observation(
            frame_to_crop=frame_to_crop,
            size=size,
            mesh=placed,
            shifts=track.shifts * np.float32(size),
            light=track.light,
            uncovered=quantise(track.uncovered),
            mouth_gap=mouth_gap(mesh),
            closed=_closed(mesh),
            mismatch=smooth_ramp(difference, 0.08, 0.3),
            finish=track.finish,
        ),
        track,
    )


def warm_up() -> None:
    """Compute what never changes, so that the first frame takes no longer than others."""
    atlas.raster(SURVEYED)
    for size in (atlas.DETAIL, SURVEYED, FIELD):
        atlas.masks(size)
    spread_of_shifts()


def _closed(mesh: Landmarks478) -> tuple[float, float]:
    left, right = eye_openings(mesh)
    return 1 - smooth_ramp(left, *LIDS_MEET), 1 - smooth_ramp(right, *LIDS_MEET)


def _crop_size(side: float, before: int | None) -> int:
    """The size for a face square of ``side`` frame pixels; the one before is kept while it fits nearly as well."""
    if before is not None and 0.6 * before <= side <= 1.1 * before:
        return before
    return next((size for size in CROP_SIZES if size >= 0.95 * side), CROP_SIZES[-1])


def _light(looked: Survey, identity: MeshIdentity) -> Light:
    """Light of the target's skin."""
    small = Size(FIELD, FIELD)
    seen = resize(smooth_step(looked.facing, 0.1, 0.4) * looked.bare, small)
    weights = seen * atlas.masks(FIELD).skin * (atlas.masks(FIELD).edge > 0.3)
    tone = resize(lab_to_tone(looked.lab), small)
    return measure_light(tone, weights, 1 - resize(looked.beard, small), identity.detail)


def _finish(
    picture: Picture, frame_to_crop: Affine, size: int, placed: Landmarks478, identity: MeshIdentity, gain: float
) -> Finish:
    first, count = middle_of(size)
    to_patch = frame_to_crop.copy()
    to_patch[:, 2] -= first
    patch = picture.warp(to_patch, Size(count, count))
    return identity.sharpness.match(fineness_of(patch), gain, texture_density(placed))


def _settle(before: Map, now: Map, passed: float, settles: float) -> Map:
    return before + (now - before) * np.float32(_share(passed, settles))


def _share(passed: float, settles: float) -> float:
    """Share of a change that comes through in ``passed`` seconds."""
    return 1 - math.exp(-max(passed, 0) / settles)
