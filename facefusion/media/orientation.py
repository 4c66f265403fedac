"""Turning and mirroring: from pixels as stored to pixels as shown, exactly."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from facefusion.core.values import Size
from facefusion.vision.colour import Plane
from facefusion.vision.picture import Layout, Siting

EXIF: dict[int, tuple[bool, bool, bool]] = {
    1: (False, False, False),
    2: (False, True, False),
    3: (False, True, True),
    4: (False, False, True),
    5: (True, False, False),
    6: (True, True, False),
    7: (True, True, True),
    8: (True, False, True),
}
"""EXIF's orientation numbers as (transpose, then mirror x, then mirror y)."""


@dataclass(frozen=True, slots=True)
class Orientation:
    """What to do to stored pixels: first swap rows and columns, then mirror."""

    transpose: bool = False
    mirror_x: bool = False
    mirror_y: bool = False

    @classmethod
    def from_exif(cls, number: int) -> Orientation:
        """From the value of EXIF's tag 274; unknown values mean upright."""
        return cls(*EXIF.get(number, EXIF[1]))

    @classmethod
    def from_display_matrix(cls, data: bytes) -> Orientation:
        """From FFmpeg's display matrix: nine native 32-bit numbers, (x, y) becoming (ax + cy, bx + dy).

        Angles between quarter turns are taken for the nearest one.
        """
        a, b, _, c, d, *_ = struct.unpack("=9i", data[:36])
        if abs(b) + abs(c) > abs(a) + abs(d):
            return cls(True, c < 0, b < 0)
        return cls(False, a < 0, d < 0)

    @classmethod
    def from_rotation(cls, degrees: float) -> Orientation:
        """From FFmpeg's angle, counter-clockwise; taken for the nearest quarter turn."""
        turns = round(degrees / 90) % 4
        return cls(turns % 2 == 1, turns in (2, 3), turns in (1, 2))

    @property
    def upright(self) -> bool:
        """Nothing has to be done."""
        return not (self.transpose or self.mirror_x or self.mirror_y)

    def shown_size(self, size: Size) -> Size:
        """Size after turning."""
        return Size(size.height, size.width) if self.transpose else size

    def apply(self, plane: Plane) -> Plane:
        """Turn a plane (height x width, or x channels); a copy unless upright."""
        if self.upright:
            return plane
        turned = plane.swapaxes(0, 1) if self.transpose else plane
        if self.mirror_x:
            turned = turned[:, ::-1]
        if self.mirror_y:
            turned = turned[::-1]
        return cast("Plane", np.ascontiguousarray(turned))

    def apply_to_layout(self, layout: Layout, size: Size) -> Layout:
        """The layout of turned planes; ``size`` is the stored one. Chroma sits elsewhere after mirroring."""
        if self.transpose:
            layout = replace(
                layout,
                step_x=layout.step_y,
                step_y=layout.step_x,
                siting=Siting(layout.siting.y, layout.siting.x),
            )
        shown = self.shown_size(size)
        x, y = layout.siting
        if self.mirror_x:
            x = _mirrored(x, layout.step_x, shown.width)
        if self.mirror_y:
            y = _mirrored(y, layout.step_y, shown.height)
        return replace(layout, siting=Siting(x, y))


def _mirrored(share: float, step: int, length: int) -> float:
    """Share of the gap at which the last chroma sample, now the first, lies."""
    if step == 1:
        return share
    last = (-(-length // step) - 1) * step
    return (length - 1 - last) / (step - 1) - share
