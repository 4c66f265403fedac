"""What an upload is, by its first bytes; what it is called says nothing.

Only formats that begin unmistakably are known. So FFmpeg never gets to see a playlist, a list of files to join or
another text that would have it open further files: none of those begins like this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HEAD = 4096
"""Bytes of a file that are enough to tell."""

MEDIA_TYPES = {
    ".apng": "image/apng",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".heic": "image/heic",
    ".heif": "image/heif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".webp": "image/webp",
    ".avi": "video/x-msvideo",
    ".m4v": "video/x-m4v",
    ".mkv": "video/x-matroska",
    ".mov": "video/quicktime",
    ".mp4": "video/mp4",
    ".mpeg": "video/mpeg",
    ".mpg": "video/mpeg",
    ".mxf": "application/mxf",
    ".webm": "video/webm",
    ".wmv": "video/x-ms-wmv",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg; codecs=opus",
    ".wav": "audio/wav",
}
"""By extension (IANA's registry where it has one)."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Bytes that files of a format begin with."""

    extension: str
    parts: tuple[tuple[int, bytes], ...]
    """Offsets, and what stands there."""

    def fits(self, head: bytes) -> bool:
        """Whether a file that begins so is of the format."""
        return all(head.startswith(text, offset) for offset, text in self.parts)


def _begin(extension: str, *texts: bytes) -> Sequence[Signature]:
    return [Signature(extension, ((0, text),)) for text in texts]


TS_PACKET = 188
"""Bytes of a packet of an MPEG transport stream (ISO/IEC 13818-1), each of which begins with 0x47."""

SIGNATURES: tuple[Signature, ...] = (
    *_begin(".png", b"\x89PNG\r\n\x1a\n"),
    *_begin(".jpg", b"\xff\xd8\xff"),
    *_begin(".gif", b"GIF87a", b"GIF89a"),
    *_begin(".bmp", b"BM"),
    *_begin(".tif", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    Signature(".webp", ((0, b"RIFF"), (8, b"WEBP"))),
    Signature(".avi", ((0, b"RIFF"), (8, b"AVI "))),
    Signature(".wav", ((0, b"RIFF"), (8, b"WAVE"))),
    *_begin(".wmv", bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c")),
    *_begin(".mxf", bytes.fromhex("060e2b34020501010d0102")),
    *_begin(".mpg", b"\0\0\1\xba", b"\0\0\1\xb3"),
    Signature(".mpg", ((0, b"\x47"), (TS_PACKET, b"\x47"), (2 * TS_PACKET, b"\x47"))),
    *_begin(".flac", b"fLaC"),
    *_begin(".mp3", b"ID3", b"\xff\xfb", b"\xff\xfa", b"\xff\xf3", b"\xff\xf2"),
    *(Signature(".mov", ((4, kind),)) for kind in (b"moov", b"mdat", b"wide", b"free", b"skip")),
)

AVIF_BRANDS = frozenset({b"avif", b"avis"})
HEIF_BRANDS = frozenset({b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"})
SOUND_BRANDS = frozenset({b"M4A ", b"M4B "})


def extension_of(head: bytes) -> str | None:
    """The extension of files that begin so.

    Args:
        head: the first :data:`HEAD` bytes, or all where there are fewer.

    Returns:
        One of :data:`MEDIA_TYPES`; none where nothing known begins so.
    """
    if head.startswith(b"ftyp", 4):
        return _of_brands(head)
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        return ".webm" if b"webm" in head[:64] else ".mkv"
    if head.startswith(b"OggS"):
        return ".opus" if b"OpusHead" in head[:64] else ".ogg"
    return next((signature.extension for signature in SIGNATURES if signature.fits(head)), None)


def _of_brands(head: bytes) -> str:
    """ISO/IEC 14496-12, 4.3: the major brand, a version, and the brands that the file goes by as well."""
    length = min(int.from_bytes(head[:4], "big"), len(head))
    major = head[8:12]
    brands = {major, *(head[at : at + 4] for at in range(16, length - 3, 4))}
    if brands & AVIF_BRANDS:
        return ".avif"
    if major in HEIF_BRANDS:
        return ".heic"
    if major in SOUND_BRANDS:
        return ".m4a"
    return {b"qt  ": ".mov", b"M4V ": ".m4v", b"M4VH": ".m4v", b"M4VP": ".m4v"}.get(major, ".mp4")
