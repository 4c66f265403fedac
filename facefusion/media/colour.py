"""What a stream says about its colour, in the code points of ITU-T H.273 that FFmpeg uses too."""

from __future__ import annotations

from dataclasses import dataclass

from facefusion.vision.colour import Coding, Matrix

UNSPECIFIED = 2

MATRICES: dict[int, Matrix] = {
    1: Matrix.BT709,
    4: Matrix.FCC,
    5: Matrix.BT601,
    6: Matrix.BT601,
    7: Matrix.SMPTE240M,
    9: Matrix.BT2020,
    10: Matrix.BT2020,
}

LIMITED, FULL = 1, 2
"""Values of the range, as in FFmpeg; 0 is unspecified."""

HD_LINES = 720
"""From this height on, a stream that names no matrix is taken to be BT.709, below to be BT.601, as players do."""


@dataclass(frozen=True, slots=True)
class ColourDescription:
    """Matrix, primaries and transfer as H.273 numbers them (2: unspecified); range 0 unspecified, 1 limited, 2 full."""

    matrix: int = UNSPECIFIED
    range: int = 0
    primaries: int = UNSPECIFIED
    transfer: int = UNSPECIFIED

    def coding(self, bit_depth: int, height: int) -> Coding:
        """The coding of YUV planes, unspecified parts filled in as players do: limited range, matrix by height."""
        fallback = Matrix.BT709 if height >= HD_LINES else Matrix.BT601
        return Coding(MATRICES.get(self.matrix, fallback), self.range == FULL, bit_depth)
