"""What can be encoded with on this machine."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import cast

import av
from av.video.codeccontext import VideoCodecContext

from facefusion.core.errors import ResourceError, SetupError
from facefusion.media.encoder import ENCODERS
from facefusion.media.ffmpeg_log import first_of, overheard
from facefusion.media.ffmpeg_program import external_encoder_works, external_encoders, external_formats
from facefusion.media.pixel_format import nearest

HARDWARE = ("_nvenc", "_amf", "_qsv", "_vaapi", "_videotoolbox")
"""Ends of the names of encoders that a build may have while the machine lacks what they run on."""

HARDWARE_FORMATS: dict[str, tuple[str, ...]] = {
    "h264": ("nv12", "yuv420p", "yuv444p"),
    "hevc": ("nv12", "yuv420p", "p010le", "yuv444p", "yuv444p16le"),
    "av1": ("nv12", "yuv420p", "p010le"),
}
"""What hardware encodes widely; FFmpeg lists more, which the newest of it takes only."""

NVENC = "_nvenc"

FULL_CARD = "out of memory (10)"
"""Within what FFmpeg says of NVENC where the driver begins no further session, or the card has no memory left."""

IN_GENERAL = "No capable devices found"
"""What FFmpeg says after what was in the way of each."""

TRIAL_SIZE = 256
"""Side of the picture that a hardware encoder is opened for on trial; some refuse smaller ones."""


def library_version() -> str:
    """Versions of PyAV and of the FFmpeg within it."""
    return f"PyAV {av.__version__} with FFmpeg {av.ffmpeg_version_info}"


def usable_encoders() -> tuple[str, ...]:
    """The known encoders that this build of FFmpeg has; a hardware one may still lack its hardware."""
    return tuple(name for name in ENCODERS if name in av.codecs_available)


def offered_formats(encoder: str) -> tuple[str, ...]:
    """Pixel formats that an encoder takes, by FFmpeg's names."""
    if is_external(encoder):
        names = external_formats(encoder)
    else:
        names = tuple(form.name for form in av.Codec(encoder, "w").video_formats or ())
    if not encoder.endswith(HARDWARE):
        return names
    wide = HARDWARE_FORMATS[encoder.partition("_")[0]]
    return tuple(name for name in names if name in wide)


def is_external(encoder: str) -> bool:
    """Whether the encoder is one of the ``ffmpeg`` on the path, since the one within Python lacks it."""
    return bool(_obstacle_within(encoder, None)) and external_encoder_works(encoder)


def is_nvenc(encoder: str) -> bool:
    """Whether the encoder is one of NVIDIA's cards."""
    return encoder.endswith(NVENC)


def card_options(encoder: str, device: int | None) -> dict[str, str]:
    """What tells an encoder on which NVIDIA card to work; nothing to others, and where any card will do.

    Args:
        encoder: FFmpeg's name.
        device: number of the card as CUDA counts; none for the first that can.
    """
    return {"gpu": str(device)} if device is not None and is_nvenc(encoder) else {}


def encoder_obstacle(name: str, device: int | None = None) -> str:
    """What stops this machine from encoding with something; empty where nothing does. Hardware is tried out.

    Args:
        name: FFmpeg's name of the encoder.
        device: number of the NVIDIA card to work on, as CUDA counts; none for the first that can.

    Raises:
        ResourceError: the card has nothing left for it at present.
    """
    obstacle = _obstacle_within(name, device)
    if not obstacle or external_encoder_works(name):
        return ""
    return obstacle if name in usable_encoders() else "this machine lacks its device or driver"


def check_encoder(name: str, device: int | None = None) -> None:
    """Make sure that an encoder can be had on this machine, before anything slow begins.

    Args:
        name: FFmpeg's name of the encoder.
        device: number of the NVIDIA card to work on, as CUDA counts; none for the first that can.

    Raises:
        SetupError: neither FFmpeg has it, or the machine lacks what it runs on.
        ResourceError: the card has nothing left for it at present.
    """
    reason = encoder_obstacle(name, device)
    if not reason:
        return
    others = ", ".join(other for other in usable_encoders() if not other.endswith(HARDWARE))
    remedy = f"Choose another with --output-video-encoder: {others}."
    if name not in usable_encoders() and name not in external_encoders():
        raise SetupError(f"the FFmpeg in use has no video encoder {name}, nor has an ffmpeg on the path", remedy)
    where = "" if device is None or not is_nvenc(name) else f" on card {device}"
    raise SetupError(f"video encoder {name} cannot be used{where}: {reason}", remedy)


def full_card(encoder: str, reason: str) -> ResourceError:
    """The error for a card that begins no further encoding.

    Args:
        encoder: FFmpeg's name.
        reason: what it said.
    """
    return ResourceError(
        f"the graphics card begins no further encoding with {encoder} ({reason})",
        "NVIDIA's drivers allow GeForce cards a few at once, by all programs together: end others that encode or "
        "record, or free video memory; or choose another --output-video-encoder.",
    )


def _obstacle_within(encoder: str, device: int | None) -> str:
    if encoder not in usable_encoders():
        return "this build of FFmpeg lacks it"
    if not encoder.endswith(HARDWARE):
        return ""
    return _try_out(encoder, device if is_nvenc(encoder) else None)


@lru_cache(maxsize=32)
def _try_out(name: str, device: int | None) -> str:
    """Open a hardware encoder; what was in its way. A card that is full now is not remembered to be so."""
    context = cast("VideoCodecContext", av.CodecContext.create(name, "w"))
    context.width = context.height = TRIAL_SIZE
    context.framerate = Fraction(25)
    context.time_base = 1 / context.framerate
    context.options = card_options(name, device)
    offered = tuple(form.name for form in context.codec.video_formats or ())
    context.pix_fmt = nearest("yuv420p", offered)
    complaints: list[str] = []
    try:
        with overheard(complaints):
            _open(context)
    except (av.FFmpegError, ValueError) as error:
        reason = first_of([line for line in complaints if not line.startswith(IN_GENERAL)], error)
        if FULL_CARD in reason:
            raise full_card(name, reason) from error
        return f"this machine lacks its device or driver, or they refuse ({reason.rstrip('.')})"
    return ""


def _open(context: VideoCodecContext) -> None:
    context.open()
