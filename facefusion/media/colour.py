"""What a stream says about its colour, in the code points of ITU-T H.273 that FFmpeg uses too."""

from __future__ import annotations

from dataclasses import dataclass, replace

from facefusion.vision.colour import Coding, Matrix
from facefusion.vision.dynamic_range import DynamicRange

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

PQ, HLG = 16, 18
"""Transfer characteristics of SMPTE ST 2084 and ARIB STD-B67."""

DYNAMIC_RANGES: dict[int, DynamicRange] = {PQ: DynamicRange.PQ, HLG: DynamicRange.HLG}

RGB = 0
"""The matrix of planes that are no YUV."""

MATRIX_CODES: dict[Matrix, int] = {Matrix.BT709: 1, Matrix.BT601: 6}
"""How the two that players assume are tagged."""

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

    def coded_as_yuv(self, height: int) -> ColourDescription:
        """What RGB of this description becomes in YUV: limited range, and the matrix that players take for ``height``.

        RGB without a word on its primaries is sRGB, whose primaries are BT.709's.
        """
        matrix = MATRIX_CODES[_usual_matrix(height)]
        return ColourDescription(matrix, LIMITED, self.primaries if self.primaries != UNSPECIFIED else 1, self.transfer)

    def as_rgb(self) -> ColourDescription:
        """What YUV of this description becomes in RGB."""
        return ColourDescription(RGB, FULL, self.primaries, self.transfer)

    def shown_at(self, height: int, new_height: int) -> ColourDescription:
        """The description for another height, at which players would take a missing matrix for another one."""
        usual = _usual_matrix(height)
        if self.matrix in MATRICES or usual == _usual_matrix(new_height):
            return self
        return replace(self, matrix=MATRIX_CODES[usual])

    def coding(self, bit_depth: int, height: int) -> Coding:
        """The coding of YUV planes, unspecified parts filled in as players do: limited range, matrix by height."""
        matrix = MATRICES.get(self.matrix, _usual_matrix(height))
        dynamic_range = DYNAMIC_RANGES.get(self.transfer, DynamicRange.STANDARD)
        return Coding(matrix, self.range == FULL, bit_depth, dynamic_range)


def _usual_matrix(height: int) -> Matrix:
    return Matrix.BT709 if height >= HD_LINES else Matrix.BT601
