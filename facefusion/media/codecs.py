"""What the FFmpeg in use can encode with on this machine."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import av
from av.video.codeccontext import VideoCodecContext

from facefusion.core.errors import SetupError
from facefusion.media.encoder import ENCODERS
from facefusion.media.pixel_format import nearest

HARDWARE = ("_nvenc", "_amf", "_qsv", "_videotoolbox")
"""Ends of the names of encoders that a build may have while the machine lacks what they run on."""

TRIAL_SIZE = 256
"""Side of the picture that a hardware encoder is opened for on trial; some refuse smaller ones."""


def usable_encoders() -> tuple[str, ...]:
    """The known encoders that this build of FFmpeg has; a hardware one may still lack its hardware."""
    return tuple(name for name in ENCODERS if name in av.codecs_available)


def offered_formats(encoder: str) -> tuple[str, ...]:
    """Pixel formats that an encoder takes, by FFmpeg's names."""
    return tuple(form.name for form in av.Codec(encoder, "w").video_formats or ())


def check_encoder(name: str) -> None:
    """Make sure that an encoder can be had on this machine, before anything slow begins.

    Raises:
        SetupError: this build of FFmpeg lacks it, or the machine lacks what it runs on.
    """
    usable = usable_encoders()
    others = ", ".join(other for other in usable if not other.endswith(HARDWARE))
    remedy = f"Choose another with --output-video-encoder: {others}."
    if name not in usable:
        raise SetupError(f"the FFmpeg in use has no video encoder {name}", remedy)
    if name.endswith(HARDWARE) and not _opens(name):
        raise SetupError(f"video encoder {name} cannot be used: this machine lacks its device or driver", remedy)


def _opens(name: str) -> bool:
    context = cast("VideoCodecContext", av.CodecContext.create(name, "w"))
    context.width = context.height = TRIAL_SIZE
    context.framerate = Fraction(25)
    context.time_base = 1 / context.framerate
    context.pix_fmt = nearest("yuv420p", offered_formats(name))
    try:
        _open(context)
    except (av.FFmpegError, ValueError):
        return False
    return True


def _open(context: VideoCodecContext) -> None:
    context.open()
