"""The image formats that can be written, and what each can hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from facefusion.core.errors import OutputError

MOST_SIDE = (1 << 31) - 1
"""Of a format that knows no limit of its own."""


@dataclass(frozen=True, slots=True)
class StillFormat:
    """One format."""

    name: str
    """As Pillow calls it."""
    extensions: tuple[str, ...]
    depths: tuple[int, ...] = (8,)
    """Bits per component, ascending."""
    alpha: bool = False
    grey: bool = False
    """One channel is stored as one channel."""
    lossless: bool = False
    """What is read back must be what was written, at every quality."""
    profile: bool = False
    """Holds an ICC profile."""
    metadata: bool = False
    """Holds EXIF and XMP."""
    resolution: bool = False
    colour_codes: bool = False
    """Holds H.273 code points for primaries and transfer."""
    longest_side: int = MOST_SIDE
    """Pixels that a picture may be wide or high."""

    def check_size(self, path: PurePath, width: int, height: int) -> None:
        """Refuse a picture that is too large for the format.

        Raises:
            OutputError: it is.
        """
        if max(width, height) > self.longest_side:
            raise OutputError(
                f"{path} cannot be written: {self.name} holds {self.longest_side} pixels per side, and the result has "
                f"{width} x {height}",
                "Choose another format, or a smaller picture.",
            )


BMP = StillFormat("BMP", (".bmp",), grey=True, lossless=True, resolution=True)
GIF = StillFormat("GIF", (".gif",), alpha=True, longest_side=65535)
JPEG = StillFormat(
    "JPEG", (".jpg", ".jpeg"), grey=True, profile=True, metadata=True, resolution=True, longest_side=65500
)
"""The limit is that of the library which all programs use."""
WEBP = StillFormat("WEBP", (".webp",), alpha=True, profile=True, metadata=True, longest_side=16383)
PNG = StillFormat(
    "PNG", (".png", ".apng"), (8, 16), True, True, True, True, metadata=True, resolution=True, colour_codes=True
)
TIFF = StillFormat("TIFF", (".tif", ".tiff"), (8, 16), True, True, True, True, metadata=True, resolution=True)
AVIF = StillFormat(
    "AVIF", (".avif",), (8, 10, 12), True, profile=True, metadata=True, colour_codes=True, longest_side=32768
)
"""Larger ones can be written, but the common decoder refuses them."""
HEIF = StillFormat("HEIF", (".heic", ".heif"), (8, 10), True, profile=True, metadata=True, colour_codes=True)
"""Twelve bits could be written, but what shows HEIC photos decodes ten."""

FORMATS = (AVIF, BMP, GIF, HEIF, JPEG, PNG, TIFF, WEBP)


def format_of(path: PurePath) -> StillFormat:
    """The format that the extension names.

    Raises:
        OutputError: it names none.
    """
    extension = path.suffix.lower()
    for still in FORMATS:
        if extension in still.extensions:
            return still
    known = sorted(extension for still in FORMATS for extension in still.extensions)
    raise OutputError(f"{path} has no extension of an image that can be written", f"Use one of {', '.join(known)}.")
