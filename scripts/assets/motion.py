"""What happens when: the head's pose, the eyelids, the jaw, the camera and the light over time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from scripts.assets.head import Pose
from scripts.assets.voice import Voice


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of the scene at one instant."""

    pose: Pose
    blink: float
    """0 (eyes open) .. 1 (shut)."""
    jaw: float
    """0 (as in the portrait) .. 1 (wide open)."""
    rounding: float
    """How far the mouth's corners are drawn in, 0..1."""
    zoom: float
    """1 is the view at rest; larger is nearer."""
    camera: tuple[float, float, float]
    """Shift to the right and down in shares of the view's height, and roll in degrees."""
    light: tuple[float, float]
    """Direction of the key light in degrees (0 from the camera, positive from the image's right) and its gain."""


_YAW = ((0.0, 0.0), (0.1, -3.0), (0.32, -25.0), (0.40, -23.0), (0.70, 25.0), (0.78, 22.0), (0.93, 2.0), (1.0, 0.0))
_PITCH = ((0.0, 0.0), (0.14, 2.0), (0.30, -5.0), (0.46, 9.0), (0.53, -4.0), (0.60, 6.0), (0.75, -8.0), (1.0, 0.0))
_ROLL = ((0.0, 0.0), (0.25, 4.0), (0.5, -1.0), (0.72, -7.0), (0.9, 2.0), (1.0, 0.0))
_ZOOM = ((0.0, 1.0), (0.35, 1.0), (0.65, 1.14), (0.85, 1.14), (1.0, 1.04))
_LIGHT = ((0.0, 0.0), (0.2, 0.0), (0.5, -32.0), (0.8, 32.0), (1.0, 5.0))
_GAIN = ((0.0, 1.0), (0.3, 0.94), (0.55, 1.0), (0.8, 0.90), (1.0, 1.0))
_BLINKS = (0.16, 0.50, 0.83)
_BLINK_SECONDS = 0.30


def moment(time: float, duration: float, voice: Voice) -> Moment:
    """The scene ``time`` seconds into a clip of ``duration`` seconds."""
    share = time / duration
    drift = [math.sin(2.0 * math.pi * rate * time + phase) for rate, phase in ((0.71, 0.3), (0.53, 1.9), (0.93, 4.0))]
    jaw, rounding = voice.mouth(time)
    pose = Pose(
        yaw=track(_YAW, share) + 0.6 * drift[0],
        pitch=track(_PITCH, share) + 0.6 * drift[1] - 1.2 * jaw,
        roll=track(_ROLL, share) + 0.5 * drift[2],
        shift=(1.2 * drift[1] + 0.12 * track(_YAW, share), 0.8 * drift[2] + 0.10 * track(_PITCH, share)),
    )
    return Moment(
        pose=pose,
        blink=max(blink(time - middle * duration) for middle in _BLINKS),
        jaw=jaw,
        rounding=rounding,
        zoom=track(_ZOOM, share),
        camera=_shake(time),
        light=(track(_LIGHT, share), track(_GAIN, share)),
    )


def track(keys: tuple[tuple[float, float], ...], share: float) -> float:
    """A smooth path through ``keys`` (place, value), level at each of them."""
    places, values = zip(*keys, strict=True)
    right = min(max(int(np.searchsorted(places, share, side="right")), 1), len(keys) - 1)
    part = min(max((share - places[right - 1]) / (places[right] - places[right - 1]), 0.0), 1.0)
    eased = part * part * part * (part * (6.0 * part - 15.0) + 10.0)
    return float(values[right - 1] + eased * (values[right] - values[right - 1]))


def blink(offset: float) -> float:
    """How far the lids are shut ``offset`` seconds from a blink's middle: quick down, slower up."""
    down, up = 0.38 * _BLINK_SECONDS, 0.62 * _BLINK_SECONDS
    part = -offset / down if offset < 0.0 else offset / up
    return 0.0 if part >= 1.0 else 0.5 + 0.5 * math.cos(math.pi * max((part - 0.18) / 0.82, 0.0))


def _shake(time: float) -> tuple[float, float, float]:
    """A hand-held camera: slow sway with a little tremor."""
    turn = 2.0 * math.pi * time
    return (
        0.008 * math.sin(0.37 * turn + 0.4) + 0.0016 * math.sin(2.9 * turn + 1.0),
        0.006 * math.sin(0.51 * turn + 2.2) + 0.0014 * math.sin(3.7 * turn),
        0.35 * math.sin(0.29 * turn + 1.1) + 0.05 * math.sin(3.1 * turn + 2.0),
    )
