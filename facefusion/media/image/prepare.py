"""From a picture to the codes that a format can hold, and what gets lost on the way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import cv2
import numpy as np

from facefusion.core.values import Picture
from facefusion.media.finishing import Finishing
from facefusion.media.image.details import LONGEST_SEGMENT, ImageDetails
from facefusion.media.image.formats import GIF, JPEG, PNG, TIFF, StillFormat
from facefusion.media.image.pixels import stretch
from facefusion.vision.colour import Plane
from facefusion.vision.picture import BgrPicture, YuvPicture

PROFILE_SPACE = slice(16, 20)
"""Where an ICC profile names the colours it describes."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Codes as they are written."""

    codes: Plane
    """Grey, grey and alpha, RGB or RGBA."""
    bit_depth: int
    notices: tuple[str, ...]


def prepare(picture: Picture, path: Path, still: StillFormat, details: ImageDetails) -> Prepared:
    """Fit a picture to a format: depth, alpha and number of channels.

    Alpha that the format has not is laid over white, as editors do.

    Args:
        picture: the picture.
        path: of the result, for the notices.
        still: its format.
        details: of the source.

    Raises:
        OutputError: the picture is too large for the format.
    """
    still.check_size(path, *picture.size)
    codes, stored = _codes(picture, grey=details.grey)
    source_depth = min(stored, details.bit_depth)
    depth = next((each for each in still.depths if each >= source_depth), still.depths[-1])
    codes = stretch(codes, stored, depth)
    notices = []
    if depth < source_depth:
        notices.append(f"{path.name} holds {depth} bits per component; the {source_depth} of the source are rounded.")
    if codes.ndim == 3 and codes.shape[2] in (2, 4) and not still.alpha:
        if np.any(codes[..., -1] < (1 << depth) - 1):
            notices.append(f"{path.name} cannot be transparent; the picture is laid over white.")
        codes = _over_white(codes, depth)
    if still is GIF and codes.ndim == 3 and codes.shape[2] in (2, 4):
        notices.extend(_half_transparent(path, codes))
    if not still.grey or (still is TIFF and depth == 16 and codes.ndim == 3 and codes.shape[2] == 2):
        codes = _with_colour(codes)  # 16-bit grey with alpha is a TIFF that hardly a program opens
    notices.extend(metadata_notices(path, still, details, grey=codes.ndim == 2 or codes.shape[2] == 2))
    return Prepared(cast("Plane", np.ascontiguousarray(codes)), depth, tuple(notices))


def said(details: ImageDetails, still: StillFormat, finishing: Finishing) -> ImageDetails:
    """The details of a source with what a result says of itself, where its format has a place for that."""
    return replace(details, xmp=finishing.packet(details.xmp)) if still.metadata else details


def as_rgb(picture: Picture) -> Plane:
    """The picture as RGB, or RGBA where it has alpha, of 8 bits."""
    codes, depth = _codes(picture, grey=False)
    return _with_colour(stretch(codes, depth, 8))


def profile_fits(profile: bytes, *, grey: bool) -> bool:
    """Whether an ICC profile describes colours of that kind; a wrong one makes viewers refuse the file."""
    return profile[PROFILE_SPACE] == (b"GRAY" if grey else b"RGB ")


def _codes(picture: Picture, *, grey: bool) -> tuple[Plane, int]:
    """Codes in the picture's own depth, and that depth."""
    if isinstance(picture, YuvPicture) and picture.grey and picture.layout.coding.full_range:
        return picture.planes[0], picture.bit_depth
    if not isinstance(picture, BgrPicture):
        levels = picture.to_bgr(as_float=picture.bit_depth > 8)
        if picture.bit_depth == 8:
            return cast("Plane", cv2.cvtColor(levels, cv2.COLOR_BGR2RGB)), 8
        deep = np.rint(levels * np.float32(257.0)).astype(np.uint16)
        return cast("Plane", cv2.cvtColor(deep, cv2.COLOR_BGR2RGB)), 16
    colour = cv2.cvtColor(picture.pixels, cv2.COLOR_BGR2GRAY if grey else cv2.COLOR_BGR2RGB)
    codes = colour if picture.alpha is None else np.dstack((colour, picture.alpha))
    return cast("Plane", codes), picture.bit_depth


def _over_white(codes: Plane, depth: int) -> Plane:
    peak = (1 << depth) - 1
    share = codes[..., -1:].astype(np.float64) / peak
    levels = np.rint(codes[..., :-1] * share + peak * (1.0 - share))
    mixed: Plane = levels.astype(np.uint8) if depth == 8 else levels.astype(np.uint16)
    return mixed[..., 0] if mixed.shape[2] == 1 else mixed


def _half_transparent(path: Path, codes: Plane) -> Iterator[str]:
    alpha = codes[..., -1]
    if np.any((alpha > 0) & (alpha < 255)):
        yield f"{path.name} knows only fully transparent pixels; half-transparent ones become one or the other."


def _with_colour(codes: Plane) -> Plane:
    if codes.ndim == 2:
        return cast("Plane", cv2.cvtColor(codes, cv2.COLOR_GRAY2RGB))
    if codes.shape[2] == 2:
        return codes[..., (0, 0, 0, 1)]
    return codes


def metadata_notices(path: Path, still: StillFormat, details: ImageDetails, *, grey: bool) -> Iterator[str]:
    """What of a source's details a format does not hold, a sentence each."""
    missing = list(details.left_out)
    if details.icc_profile and not still.profile:
        missing.append("a colour profile; its colours are shown as sRGB")
    elif details.icc_profile and not profile_fits(details.icc_profile, grey=grey):
        missing.append("its colour profile, which does not describe " + ("greys" if grey else "RGB colours"))
    if details.colour_codes and not still.colour_codes:
        codes = details.colour_codes
        missing.append(
            f"the description of its colours (H.273 primaries {codes.primaries}, transfer {codes.transfer}); "
            f"they are shown as sRGB"
        )
    if details.png_colour and still is not PNG:
        missing.append("the gamma or the primaries of its colours; they are shown as sRGB")
    for name, body in (("EXIF data", details.exif), ("XMP data", details.xmp)):
        if body and not still.metadata:
            missing.append(name)
        elif still is JPEG and len(body) > LONGEST_SEGMENT:
            missing.append(f"{name}, which is longer than the {LONGEST_SEGMENT} bytes that a JPEG holds")
    if details.comment and still is not JPEG:
        missing.append("the comment")
    if details.iptc and (still is not JPEG or len(details.iptc) > LONGEST_SEGMENT):
        missing.append("IPTC data")
    if details.texts and still is not PNG:
        missing.append("texts")
    for part in missing:
        yield f"{path.name} does not keep what the source holds beside its pixels: {part}."
