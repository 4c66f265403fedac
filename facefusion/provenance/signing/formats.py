"""Which files hold a manifest, and what they are called by the library."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import BinaryIO

SIDE_CAR = "application/c2pa"
UNKNOWN = "application/octet-stream"

_JPEG, _PNG, _WEBP, _GIF, _TIFF = "image/jpeg", "image/png", "image/webp", "image/gif", "image/tiff"
_AVI, _MP4 = "video/avi", "video/mp4"

INSIDE: dict[str, str] = {
    ".apng": _PNG,
    ".avi": _AVI,
    ".avif": "image/avif",
    ".gif": _GIF,
    ".heic": "image/heic",
    ".heif": "image/heif",
    ".jpeg": _JPEG,
    ".jpg": _JPEG,
    ".m4v": "video/x-m4v",
    ".mov": "video/quicktime",
    ".mp4": _MP4,
    ".png": _PNG,
    ".tif": _TIFF,
    ".tiff": _TIFF,
    ".webp": _WEBP,
}
"""Media types by extension, of formats that the library puts a manifest into."""

BESIDE: dict[str, str] = {
    ".bmp": "image/bmp",
    ".mkv": "video/x-matroska",
    ".mpeg": "video/mpeg",
    ".mpg": "video/mpeg",
    ".mxf": "application/mxf",
    ".webm": "video/webm",
    ".wmv": "video/x-ms-wmv",
}
"""The same of those that it cannot: their manifest lies in a file of its own."""

_HEAD = 12
_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", _JPEG),
    (b"\x89PNG\r\n\x1a\n", _PNG),
    (b"GIF8", _GIF),
    (b"II*\0", _TIFF),
    (b"MM\0*", _TIFF),
)


def media_type_inside(name: PurePath) -> str | None:
    """The media type that an extension says, where the format holds a manifest; else none."""
    return INSIDE.get(name.suffix.lower())


def media_type_of(path: Path, file: BinaryIO) -> str:
    """The media type of a file of anybody's, by its first bytes, since names lie; by its name where they say nothing.

    Args:
        path: the file's.
        file: the same, opened, at its beginning; it is left there.
    """
    head = file.read(_HEAD)
    file.seek(0)
    for beginning, media_type in _BEGINNINGS:
        if head.startswith(beginning):
            return media_type
    extension = path.suffix.lower()
    if head[4:8] == b"ftyp":
        by_name = INSIDE.get(extension, _MP4)
        # All formats made of boxes are alike to the library.
        return by_name if by_name not in (_JPEG, _PNG, _WEBP, _GIF, _TIFF, _AVI) else _MP4
    if head[:4] == b"RIFF" and head[8:] in (b"WEBP", b"AVI "):
        return _WEBP if head[8:] == b"WEBP" else _AVI
    return INSIDE.get(extension) or BESIDE.get(extension, UNKNOWN)
