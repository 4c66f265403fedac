"""Reading EXIF, which cameras and editors write in every state of repair."""

from __future__ import annotations

import struct

from PIL import Image

from facefusion.media.image.opening import DAMAGE
from facefusion.media.orientation import Orientation

ORIENTATION = 274
HEADER = b"Exif\0\0"


def read_exif(image: Image.Image) -> Image.Exif | None:
    """The EXIF of an opened image; none where it is damaged."""
    try:
        exif = image.getexif()
        exif.bigtiff = False  # that is how the file stores it, and would be taken over
        exif.tobytes()
        raw = image.info.get("exif")
        return None if isinstance(raw, bytes) and _breaks_off(raw.removeprefix(HEADER)) else exif
    except (*DAMAGE, KeyError, TypeError):
        return None


def _breaks_off(data: bytes) -> bool:
    """Whether the entries of the first directory lie, in part, behind the end; Pillow then hands out those before."""
    order = ">" if data[:2] == b"MM" else "<"
    (start,) = struct.unpack_from(f"{order}I", data, 4)
    (count,) = struct.unpack_from(f"{order}H", data, start)
    return bool(start + 2 + 12 * count > len(data))


def orientation_of(image: Image.Image) -> Orientation:
    """How to turn the pixels; those of HEIF files come turned already."""
    exif = read_exif(image)
    number = exif.get(ORIENTATION, 1) if exif is not None else 1
    return Orientation.from_exif(number if isinstance(number, int) else 1)
