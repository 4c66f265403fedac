"""Writing an image."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from facefusion.core.errors import MediaError, OutputError
from facefusion.core.stop import StopToken
from facefusion.core.storage import refusal
from facefusion.core.values import Picture
from facefusion.media.finishing import AS_WRITTEN, Finishing, finish_into_place
from facefusion.media.image.deep import deep_codes
from facefusion.media.image.details import ImageDetails
from facefusion.media.image.encode import encode
from facefusion.media.image.facts import bit_depth
from facefusion.media.image.formats import StillFormat, format_of
from facefusion.media.image.opening import opened
from facefusion.media.image.pixels import eight_bit_codes, stretch
from facefusion.media.image.prepare import Prepared, prepare, said
from facefusion.media.output import OTHER_OUTPUT, part_path


def write_image(
    picture: Picture,
    path: Path,
    *,
    quality: int,
    details: ImageDetails | None = None,
    finishing: Finishing = AS_WRITTEN,
    stop: StopToken | None = None,
) -> tuple[str, ...]:
    """Write a picture, in the format that the extension names, verify it by reading it back, and move it into place.

    Depth, alpha and metadata are kept as far as the format has them; what it has not is said.

    Args:
        picture: the picture.
        path: where to.
        quality: 0..100 for AVIF, HEIF, JPEG and WebP; at 100 AVIF and WebP lose nothing.
        details: of the image that the picture was made of.
        finishing: what it says of itself.
        stop: asked once it is written.

    Returns:
        What was not kept, and what else the user should know, a sentence each.

    Raises:
        SigningError: it cannot be signed; the message says where it is kept.
        OutputError: unknown extension, no place to write to, or the file read back is not what was written.
    """
    still = format_of(path)
    details = said(details or ImageDetails(), still, finishing)
    part = part_path(path)
    prepared = prepare(picture, path, still, details)
    try:
        part.write_bytes(encode(prepared, still, quality, details))
        check = partial(_verify, part, prepared, path, still)
        notices = finish_into_place(part, path, finishing, check, stop or StopToken())
    except OSError as error:
        raise refusal(error, path, OTHER_OUTPUT) from error
    except (ValueError, RuntimeError) as error:
        raise OutputError(f"{path} cannot be written ({error})", "Choose another format or size.") from error
    finally:
        part.unlink(missing_ok=True)
    return (*prepared.notices, *notices)


def _verify(part: Path, prepared: Prepared, path: Path, still: StillFormat) -> None:
    try:
        with opened(part) as image:
            depth = bit_depth(part, image)
            again = deep_codes(part, image, depth) if depth > 8 else eight_bit_codes(image)
    except MediaError as error:
        raise OutputError(f"{path} was written but cannot be read back ({error.fault})", "Check the disk.") from error
    whole = depth == prepared.bit_depth and again.shape[:2] == prepared.codes.shape[:2]
    if still.lossless:
        whole = whole and np.array_equal(again, stretch(prepared.codes, depth, max(depth, 8) if depth == 8 else 16))
    if not whole:
        raise OutputError(f"{path} was written but reads back differently", "Check the disk and try again.")
