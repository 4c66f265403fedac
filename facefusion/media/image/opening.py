"""Opening an image by its content, with errors a user can act on."""

from __future__ import annotations

import struct
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, UnidentifiedImageError
from pillow_heif import register_heif_opener

from facefusion.core.errors import MediaError, ResourceError
from facefusion.core.formats import MediaKind, kind_of

MOST_PIXELS = 1 << 28
"""Larger pictures are refused before any pixel is decoded: 16384 x 16384, 0.8 GB in 8-bit colour."""

MOST_BYTES = 1 << 31
"""Larger files are refused unread, since some formats are read as a whole: so many pixels in 16 bits, uncompressed."""

READ_FORMATS = (
    "AVIF", "BMP", "DIB", "GIF", "HEIF", "JPEG", "JPEG2000", "PNG", "PPM", "TIFF", "WEBP",
)  # fmt: skip
"""By Pillow's names. Pillow knows more, some of which call other programs."""

DAMAGE = (OSError, SyntaxError, ValueError, struct.error, EOFError)
"""What decoders raise on a file that is not whole."""

SLIPS = (TypeError, LookupError, ArithmeticError, AttributeError)
"""What decoders written in Python raise where they did not reckon with what a file lacks or says."""

DECODERS = ("PIL", "pillow_heif")
"""Packages that an image is opened and decoded by."""

SIGNATURES = (
    (0, b"\xff\xd8\xff", "JPEG"),
    (0, b"\x89PNG\r\n\x1a\n", "PNG"),
    (0, b"GIF8", "GIF"),
    (8, b"WEBP", "WebP"),
    (0, b"II*\0", "TIFF"),
    (0, b"MM\0*", "TIFF"),
    (4, b"ftypavif", "AVIF"),
    (4, b"ftypheic", "HEIC"),
    (4, b"ftypheix", "HEIC"),
    (4, b"ftypmif1", "HEIC"),
)
"""Offset and bytes that begin an image file."""
SEQUENCES = (b"ftypavis", b"ftyphevc", b"ftypmsf1")
"""Of moving pictures in the containers of AVIF and HEIC."""
HEAD = 16

# The limit is our own and checked below; Pillow's would warn from a third of it on.
Image.MAX_IMAGE_PIXELS = None
# What is damaged is found out and said by ourselves; Pillow would print lines of its code.
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")
register_heif_opener(thumbnails=False)


class NoImageError(MediaError):
    """The content is of no image format; it may be a video."""


@contextmanager
def opened(path: Path) -> Iterator[Image.Image]:
    """Open an image; its pixels are decoded when first asked for.

    Raises:
        NoImageError: it is no image.
        MediaError: it is damaged or too large.
        ResourceError: there is no memory for what it says that it holds.
    """
    check_bytes(path)
    try:
        with Image.open(path, formats=READ_FORMATS) as image:
            _check_size(path, image.width, image.height)
            yield image
    except UnidentifiedImageError as error:
        _refuse_unread(path)
        is_video = kind_of(path) is MediaKind.VIDEO
        remedy = "Name a picture, such as a frame of it." if is_video else "Check that it opens in a viewer."
        raise NoImageError(f"{path} is no image that can be read", remedy) from error
    except DAMAGE as error:
        raise _damaged(path, error) from error
    except MemoryError as error:
        raise ResourceError(
            f"{path} asks for more memory than there is",
            "If it is no large picture it is damaged: get it again. Else scale it down first, or close other programs.",
        ) from error
    except (RuntimeError, *SLIPS) as error:
        # As which Pillow passes on what libavif says of its data. One of our own is no fault of the file.
        if not _is_of_decoder(error):
            raise
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> MediaError:
    cause = " ".join(str(error).split())
    return MediaError(f"{path} is damaged ({cause})", "Get the file again or repair it in an editor.")


def _is_of_decoder(error: Exception) -> bool:
    """Whether an error was raised in Pillow or one of its plugins."""
    places = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return places[-1].partition(".")[0] in DECODERS


def is_sequence(path: Path) -> bool:
    """Whether the file is an AVIF or HEIF sequence: moving pictures, which are read as a video."""
    return _head(path)[4:12] in SEQUENCES


def check_bytes(path: Path) -> None:
    """Refuse the file of an image that is too large to be read as a whole.

    Raises:
        MediaError: it is.
    """
    size = path.stat().st_size
    if size > MOST_BYTES and _signature(path):
        raise MediaError(
            f"{path} is an image of {size} bytes, more than the {MOST_BYTES} that are accepted",
            "Compress it, or scale it down first.",
        )


def _signature(path: Path) -> str:
    """The format that a file begins like; empty where none."""
    head = _head(path)
    return next((name for offset, mark, name in SIGNATURES if head[offset:].startswith(mark)), "")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)


def _refuse_unread(path: Path) -> None:
    """FFmpeg would take such a file for a video, or one tile of a photo for all of it."""
    name = _signature(path)
    if name:
        raise MediaError(
            f"{path} is {'an' if name == 'AVIF' else 'a'} {name} that is damaged, or of a kind that is not read",
            "Get the file again, or save it as PNG.",
        )


def _check_size(path: Path, width: int, height: int) -> None:
    """Refuse a picture that is too large.

    Raises:
        MediaError: it is.
    """
    if width * height > MOST_PIXELS:
        raise MediaError(
            f"{path} has {width} x {height} pixels, more than the {MOST_PIXELS} that are accepted",
            "Scale it down first.",
        )
