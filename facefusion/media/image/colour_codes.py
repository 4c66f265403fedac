"""Colour as H.273 code points: what AVIF, HEIF and PNG say in place of, or beside, an ICC profile."""

from __future__ import annotations

import struct
from typing import NamedTuple

UNSPECIFIED = 2
SRGB_PRIMARIES = 1
SRGB_TRANSFERS = (1, 6, 13)
"""BT.709's and sRGB's curves; both are shown as sRGB by what shows photos."""


class ColourCodes(NamedTuple):
    """Code points of H.273."""

    primaries: int
    transfer: int

    @property
    def plain(self) -> bool:
        """Says nothing that a picture without any description would not be taken for."""
        return self.primaries in (SRGB_PRIMARIES, UNSPECIFIED) and self.transfer in (*SRGB_TRANSFERS, UNSPECIFIED)


def from_nclx(body: bytes) -> ColourCodes | None:
    """From the body of a ``colr`` box; none where it holds a profile instead."""
    return ColourCodes(*struct.unpack_from(">HH", body, 4)) if body[:4] == b"nclx" and len(body) >= 8 else None


def png_chunk(codes: ColourCodes) -> bytes:
    """The body of PNG's ``cICP`` chunk: RGB in full range."""
    return bytes((codes.primaries, codes.transfer, 0, 1))
