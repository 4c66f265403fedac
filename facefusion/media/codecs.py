"""What can be encoded with on this machine."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import cast

import av
from av.video.codeccontext import VideoCodecContext

from facefusion.core.errors import SetupError
from facefusion.media.encoder import ENCODERS
from facefusion.media.ffmpeg_program import external_encoder_works, external_encoders, external_formats
from facefusion.media.pixel_format import nearest

HARDWARE = ("_nvenc", "_amf", "_qsv", "_vaapi", "_videotoolbox")
"""Ends of the names of encoders that a build may have while the machine lacks what they run on."""

HARDWARE_FORMATS: dict[str, tuple[str, ...]] = {
    "h264": ("nv12", "yuv420p", "yuv444p"),
    "hevc": ("nv12", "yuv420p", "p010le", "yuv444p", "yuv444p16le"),
}
"""What hardware encodes widely; FFmpeg lists more, which the newest of it takes only."""

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
    return not _works_within(encoder) and external_encoder_works(encoder)


def check_encoder(name: str) -> None:
    """Make sure that an encoder can be had on this machine, before anything slow begins.

    Raises:
        SetupError: neither FFmpeg has it, or the machine lacks what it runs on.
    """
    if _works_within(name) or external_encoder_works(name):
        return
    others = ", ".join(other for other in usable_encoders() if not other.endswith(HARDWARE))
    remedy = f"Choose another with --output-video-encoder: {others}."
    if name in usable_encoders() or name in external_encoders():
        raise SetupError(f"video encoder {name} cannot be used: this machine lacks its device or driver", remedy)
    raise SetupError(f"the FFmpeg in use has no video encoder {name}, nor has an ffmpeg on the path", remedy)


def _works_within(encoder: str) -> bool:
    if encoder not in usable_encoders():
        return False
    return not encoder.endswith(HARDWARE) or _opens(encoder)


@lru_cache(maxsize=16)
def _opens(name: str) -> bool:
    context = cast("VideoCodecContext", av.CodecContext.create(name, "w"))
    context.width = context.height = TRIAL_SIZE
    context.framerate = Fraction(25)
    context.time_base = 1 / context.framerate
    offered = tuple(form.name for form in context.codec.video_formats or ())
    context.pix_fmt = nearest("yuv420p", offered)
    try:
        _open(context)
    except (av.FFmpegError, ValueError):
        return False
    return True


def _open(context: VideoCodecContext) -> None:
    context.open()
