"""Blinking and speaking: where each pixel of the changed face comes from in the portrait.

All functions map backwards: they take points of the face with the new expression and say which point of the still
portrait is seen there. Units are portrait pixels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facefusion.faces.surface.topology import (
    LEFT_EYE,
    LOWER_INNER_LIP,
    RIGHT_EYE,
    UPPER_INNER_LIP,
)
from scripts.assets.frames import Arc, Axes, Points, Values, smoothstep

LASH_COLOUR = (22.0, 34.0, 58.0)
"""BGR."""

_INVERSION_STEPS = 18
_LEFT_BROW = 52
_RIGHT_BROW = 282
_CHIN = 152
_OVERLAP = 1.08
_LASH_SHARE = 0.24
_LASH_THICKNESS = 0.075


def invert_monotone(forward: Callable[[Values], Values], targets: Values, low: Values, high: Values) -> Values:
    """Solve ``forward(x) = target`` within ``low..high`` by bisection; ``forward`` must not fall.

    18 halvings leave an error of 1/262144 of the bracket.
    """
    for _ in range(_INVERSION_STEPS):
        middle = (low + high) / 2.0
        above = forward(middle) > targets
        high = np.where(above, middle, high)
        low = np.where(above, low, middle)
    return (low + high) / 2.0


@dataclass(frozen=True, slots=True)
class Blink:
    """What is seen at each point around a blinking eye."""

    source: Points
    """Where the picture comes from."""
    lashes: Values
    """How much the lashes of the lowered lid cover it, 0..1."""


@dataclass(frozen=True, slots=True)
class Eye:
    """One eye of the portrait: its corners, lids, and how much skin above it takes part in a blink."""

    axes: Axes
    upper: Arc
    lower: Arc
    lid: float
    """Height of the skin above the upper lid that stretches, in pixels."""

    @classmethod
    def left(cls, mesh: Points) -> Eye:
        """The eye on the image's left."""
        return cls._of(mesh, LEFT_EYE[:9], (*LEFT_EYE[:1], *LEFT_EYE[:7:-1]), _LEFT_BROW)

    @classmethod
    def right(cls, mesh: Points) -> Eye:
        """The eye on the image's right."""
        return cls._of(mesh, RIGHT_EYE[8::-1], (*RIGHT_EYE[8:], RIGHT_EYE[0]), _RIGHT_BROW)

    @classmethod
    def _of(cls, mesh: Points, upper: tuple[int, ...], lower: tuple[int, ...], brow: int) -> Eye:
        """Read an eye off the mesh; both lids run from its left corner to its right one."""
        axes = Axes.between(mesh[upper[0], :2], mesh[upper[-1], :2])
        upper_arc = Arc.fit(axes, mesh[list(upper), :2])
        _, brow_down = axes.to_local(mesh[[brow], :2])
        crease = float(upper_arc(np.zeros(1))[0] - brow_down[0])
        return cls(axes=axes, upper=upper_arc, lower=Arc.fit(axes, mesh[list(lower), :2]), lid=0.8 * crease)

    def blink(self, points: Points, closure: float) -> Blink:
        """What is seen when the upper lid is lowered by the share ``closure`` (0 open .. 1 shut).

        The lid is painted with the clean skin above its lashes, which would smear; new lashes line its edge.
        """
        along, down = self.axes.to_local(points)
        upper = self.upper(along)
        travel = closure * _OVERLAP * np.maximum(self.lower(along) - upper, 0.0)
        outwards = np.abs(along) / self.axes.half
        lowering = float(smoothstep(np.array([closure]), 0.0, 0.3)[0])
        lashes = _LASH_SHARE * self.axes.half * lowering * smoothstep(outwards, 1.35, 0.85)
        crease = upper - self.lid

        def lowered(source: Values) -> Values:
            return source + (travel + lashes) * smoothstep((source - crease) / (self.lid - lashes), 0.0, 1.0)

        edge = upper + travel
        skin = (down > crease) & (down < edge)
        source = np.where(skin, invert_monotone(lowered, down, crease, upper - lashes), down)
        thickness = _LASH_THICKNESS * self.axes.half
        line = np.clip(1.5 - np.abs(edge - 0.5 * thickness - down) / thickness, 0.0, 1.0)
        return Blink(
            source=self.axes.to_points(along, source), lashes=0.8 * lowering * line * smoothstep(outwards, 1.0, 0.8)
        )


@dataclass(frozen=True, slots=True)
class Speech:
    """What is seen at each point of a speaking face."""

    source: Points
    """Where the skin comes from."""
    cavity: Values
    """How much of the mouth's inside covers it, 0..1."""
    depth: Values
    """How far down inside the mouth the point lies, 0 (upper teeth) .. 1 (lower lip)."""
    along: Values
    """How far from the middle of the mouth, -1 .. 1 between the corners."""


@dataclass(frozen=True, slots=True)
class Mouth:
    """The portrait's mouth and jaw."""

    axes: Axes
    upper: Arc
    lower: Arc
    chin: float
    """How far the chin lies below the line of the mouth's corners, in pixels."""
    parted: bool
    """True where the portrait already shows teeth between the lips."""

    @classmethod
    def of(cls, mesh: Points) -> Mouth:
        """Read the mouth off the mesh."""
        axes = Axes.between(mesh[UPPER_INNER_LIP[0], :2], mesh[UPPER_INNER_LIP[-1], :2])
        upper = Arc.fit(axes, mesh[list(UPPER_INNER_LIP), :2])
        lower = Arc.fit(axes, mesh[list(LOWER_INNER_LIP), :2])
        _, chin = axes.to_local(mesh[[_CHIN], :2])
        gap = float(lower(np.zeros(1))[0] - upper(np.zeros(1))[0])
        return cls(axes=axes, upper=upper, lower=lower, chin=float(chin[0]), parted=gap > 0.1 * axes.half)

    def speak(self, points: Points, drop: float, rounding: float = 0.0) -> Speech:
        """Open the mouth by ``drop`` pixels in its middle and draw its corners in by the share ``rounding``."""
        along, down = self.axes.to_local(points)
        half = self.axes.half
        pull = np.exp(-((along / (1.8 * half)) ** 2) - ((down / (1.4 * half)) ** 2))
        along = along * (1.0 + rounding * pull)
        slit = self.lower(along)
        gap = drop * self._opening(along)

        def dropped(source: Values) -> Values:
            return source + drop * self._fall(along, source, slit)

        moved = down >= slit + gap
        below = invert_monotone(dropped, down, np.minimum(slit, down - drop), np.maximum(down, slit))
        source = np.where(moved, below, np.minimum(down, slit))
        edge = 0.045 * half
        inside = np.minimum(down - slit, slit + gap - down)
        cavity = smoothstep(inside, -edge, edge) * smoothstep(gap, 0.0, 4.0 * edge)
        return Speech(
            source=self.axes.to_points(along, source),
            cavity=cavity,
            depth=np.clip((down - slit) / np.maximum(gap, 1e-6), 0.0, 1.0),
            along=along / half,
        )

    def _opening(self, along: Values) -> Values:
        return np.asarray(np.clip(1.0 - (along / self.axes.half) ** 2, 0.0, 1.0) ** 0.8, np.float64)

    def _fall(self, along: Values, source: Values, slit: Values) -> Values:
        """Share of the jaw's drop at a point of the portrait: the lip's arc at the slit, the wide jaw at the chin."""
        jaw = np.exp(-((along / (1.9 * self.axes.half)) ** 2))
        towards_chin = smoothstep((source - slit) / (self.chin - slit), 0.1, 0.9)
        neck = smoothstep(source / self.chin, 2.1, 1.0)
        lip = self._opening(along) * (1.0 - towards_chin)
        return np.asarray((lip + jaw * towards_chin) * neck, np.float64)


def mouth_colours(depth: Values, along: Values, *, upper_teeth: bool) -> npt.NDArray[np.float64]:
    """BGR of the mouth's inside, 0..255: dark palate, a hint of tongue, of lower teeth and, if asked, of upper ones."""
    dark = np.array([16.0, 12.0, 34.0])
    tongue = np.array([70.0, 58.0, 140.0])
    teeth = np.array([150.0, 172.0, 182.0])
    rim = np.clip(1.0 - np.abs(along) ** 2, 0.0, 1.0)
    tongue_share = 0.85 * smoothstep(depth, 0.3, 0.8) * rim
    colours: npt.NDArray[np.float64] = dark + tongue_share[:, None] * (tongue - dark)
    lower_share = 0.35 * smoothstep(depth, 0.80, 0.90) * rim
    colours = colours + lower_share[:, None] * (teeth - colours)
    if upper_teeth:
        upper_share = 0.8 * smoothstep(depth, 0.34, 0.24) * rim
        colours = colours + upper_share[:, None] * (teeth - colours)
    return colours
