"""How much a result will take on the disk, and whether that is there: asked before hours of work, not after."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import av

from facefusion.core.errors import DiskFullError
from facefusion.core.storage import in_units, refusal, size_of
from facefusion.media.encoding import Encoding

BITS_PER_PIXEL = ((0.0, 0.001), (0.1, 0.0016), (0.4, 0.0057), (0.6, 0.02), (0.8, 0.045), (0.9, 0.118), (1.0, 0.417))
"""By quality, 0 to 1: the least of x264, x265, VP9 and SVT-AV1, presets as by default, over six clips of people from
360p to 1080p. The most of them is four to eight times that."""

STILL = 0.25
"""A video in which hardly anything moves takes less than any of those clips."""

LIKELY = 10
"""From the least that a result takes to what it takes as a rule."""

QUANTISERS = {"crf": 0, "cq": 0, "qp": 51, "qp_p": 51, "global_quality": 51}
"""Options that name a quantiser, and their largest value; 0 where it depends on the encoder."""

LARGEST_CRF = {"libx264": 51, "libx264rgb": 51, "libx265": 51, "h264_nvenc": 51, "hevc_nvenc": 51}
OTHER_CRF = 63


def needed_bytes(encoding: Encoding, frames: int) -> int:
    """The least that the picture of a result takes; exact for raw video, 0 where the encoder tells nothing.

    Args:
        encoding: of the result.
        frames: that are to be encoded.
    """
    pixels = encoding.size.width * encoding.size.height
    if encoding.encoder == "rawvideo":
        return pixels * frames * av.VideoFormat(encoding.pixel_format).padded_bits_per_pixel // 8
    options = dict(encoding.options)
    if options.get("b", "0") != "0":
        bits = float(options["b"].removesuffix("k")) * 1000 * frames / float(encoding.frame_rate)
    else:
        quality = _quality(encoding.encoder, options)
        bits = 0.0 if quality is None else _bits_per_pixel(quality) * pixels * frames
    return int(bits * STILL / 8)


class Need(NamedTuple):
    """Bytes that something takes on the disk."""

    least: int
    likely: int


NOTHING = Need(0, 0)


def check_space(work: Path, output: Path, needed: int, frames: Need = NOTHING, copies: int = 1) -> str | None:
    """Make sure that the disks can hold the segments and the result made of them.

    Args:
        work: folder of the segments, of which some may be there; on the file system of the result it holds both.
        output: the result; it is written beside the one that it replaces.
        needed: from :func:`needed_bytes`.
        frames: what frames that are written as images take beside the segments.
        copies: how often the result lies there at a time until it has its name.

    Returns:
        A warning where it will probably not do.

    Raises:
        DiskFullError: it does not do.
        OutputError: a folder cannot be looked at.
    """
    target = output.resolve().parent
    there = size_of(work)
    missing = Need(max(needed + frames.least - there, 0), max(LIKELY * needed + frames.likely - there, 0))
    segments = "the segments" + (" and frames" if frames.least else "")
    result = Need(copies * needed, copies * LIKELY * needed)
    if _device(work) == _device(target):
        both = Need(missing.least + result.least, missing.likely + result.likely)
        return _check(work, f"{segments} and the result", both)
    warnings = (_check(work, segments, missing), _check(target, "the result", result))
    return next((warning for warning in warnings if warning), None)


def check_joined(output: Path, segments: int, copies: int = 1) -> None:
    """Make sure that the disk of a result can hold it, before its segments are put together.

    Args:
        output: the result, which takes what its segments do and more.
        segments: bytes of their files.
        copies: how often the result lies there at a time until it has its name.

    Raises:
        DiskFullError: it cannot.
        OutputError: the folder cannot be looked at.
    """
    _check(output.resolve().parent, "the result", Need(copies * segments, copies * segments))


def _check(folder: Path, what: str, needed: Need) -> str | None:
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise refusal(error, folder, "Choose another folder.") from error
    there = f"{folder} has {in_units(free)} of free space"
    remedy = "Free some space, name other folders with --temp-path and --output-path, or lower --output-video-quality."
    if free < needed.least:
        raise DiskFullError(f"{there}, and {what} will take {in_units(needed.least)} at the least", remedy)
    if free < needed.likely:
        return f"{there}, and {what} may take {in_units(needed.likely)}. {remedy}"
    return None


def _device(folder: Path) -> int:
    try:
        return folder.stat().st_dev
    except OSError as error:
        raise refusal(error, folder, "Choose another folder.") from error


def _quality(encoder: str, options: dict[str, str]) -> float | None:
    """The quality that a quantiser means, 0 to 1; none where there is none."""
    for name, largest in QUANTISERS.items():
        if name in options:
            return 1 - float(options[name]) / (largest or LARGEST_CRF.get(encoder, OTHER_CRF))
    return None


def _bits_per_pixel(quality: float) -> float:
    """On the lines between the points of the table, on a logarithmic scale."""
    clipped = min(max(quality, 0.0), 1.0)
    (low, least), (high, most) = next(pair for pair in pairwise(BITS_PER_PIXEL) if clipped <= pair[1][0])
    part = (clipped - low) / (high - low)
    return float(least ** (1 - part) * most**part)
