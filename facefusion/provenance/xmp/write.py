"""A packet put into a finished file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from facefusion.core.errors import OutputError
from facefusion.core.storage import refusal
from facefusion.media.output import OTHER_OUTPUT
from facefusion.provenance.xmp import asf, gif, jpeg, movie, png, riff, tiff
from facefusion.provenance.xmp.editing import Edit, edit
from facefusion.provenance.xmp.scan import DAMAGE, Scan


class _Format(NamedTuple):
    begin: bytes | tuple[bytes, ...]
    """With what such a file begins; movies say it in their first box, behind its length."""
    edits: Callable[[Scan, bytes], list[Edit] | None]


_JPEG = _Format(jpeg.BEGIN, jpeg.edits)
_PNG = _Format(png.BEGIN, png.edits)
_RIFF = _Format(riff.BEGIN, riff.edits)
_TIFF = _Format(tiff.BEGIN, tiff.edits)
_WRITERS = {
    ".apng": _PNG,
    ".avi": _RIFF,
    ".gif": _Format(gif.BEGIN, gif.edits),
    ".jpeg": _JPEG,
    ".jpg": _JPEG,
    ".m4v": _Format(b"", movie.edits),
    ".mov": _Format(b"", movie.quicktime_edits),
    ".mp4": _Format(b"", movie.edits),
    ".png": _PNG,
    ".tif": _TIFF,
    ".tiff": _TIFF,
    ".webp": _RIFF,
    ".wmv": _Format(asf.BEGIN, asf.edits),
}


def write_xmp(file: Path, suffix: str, packet: bytes) -> bool:
    """Put a packet into a finished file, in place of the one it has. Pictures and sound are not touched.

    Where something has to move, a new file takes the place of the old one, and a video is never in memory as a whole;
    in MP4, AVI, TIFF and Windows Media nothing moves, and only what is new is written.

    Args:
        file: under whatever name; nobody else writes to it.
        suffix: of its final name, which says the format.
        packet: from :func:`facefusion.provenance.xmp.packet.packet`.

    Returns:
        Whether the file holds it now. If not, it is as it was: the format cannot hold a packet, or none that long
        (65,502 bytes in a JPEG), or it is no file that this program writes (a MOV in fragments).

    Raises:
        OutputError: the file is not what the extension says, or it cannot be written.
        ResourceError: the disk is full.
    """
    writer = _WRITERS.get(suffix.lower())
    if writer is None:
        return False
    try:
        with file.open("rb") as opened:
            scan = Scan(opened, file.stat().st_size)
            if not scan.at(0, min(16, scan.size)).startswith(writer.begin):
                raise ValueError
            edits = writer.edits(scan, packet)
        if edits is not None:
            edit(file, edits)
    except OSError as error:
        raise refusal(error, file, OTHER_OUTPUT) from error
    except DAMAGE as error:
        raise OutputError(f"{file} is damaged, or no {suffix} file: it cannot be marked", "Check the disk.") from error
    return edits is not None
