"""Video encoders: what each wants to be told for a quality of 0 to 100 and a preset.

The options are declared from the names here, and help does not wait for FFmpeg; what asks it is in
:mod:`facefusion.media.codecs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it brings NumPy along
    from facefusion.core.values import Size

PRESETS = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")
"""From quick to thorough, as x264 names them."""

ENCODER_THREADS = 8
"""Part of the result: x264's output depends on it, so it is never taken from the machine."""

QUICK_THREADS, QUICK_THREADS_LARGE = 3, 6
"""Of x264 with a preset up to :data:`QUICK`, for other than large frames and for those. On two cores eight cost a run
5 % of its time at 360p and 1080p and 7 % at 720p: most of them wake for nothing and take a core from who does
something. A frame of 1080p took 8 ms of each of three, so these encode about 120 a second where cores are many; that is
reckoned, as no such machine was at hand."""

QUICK = "veryfast"

SOURCE_FORMAT = "source"
"""Pixel format: the source's depth and subsampling, or the nearest that the encoder takes."""
COMPATIBLE_FORMAT = "compatible"
"""Pixel format: 8-bit 4:2:0, which everything plays."""


RAW = "rawvideo"
"""The encoder that leaves pictures as they are."""


AV1_PARALLELISM = 3
"""SVT-AV1's level, 1 to 6. The result is the same at all; each level takes a fifth to a half more memory."""


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """Everything that decides what an encoder makes of given frames."""

    encoder: str = "libx264"
    quality: int = 80
    """0 (smallest) to 100 (as good as the encoder can)."""
    preset: str = "veryfast"
    pixel_format: str = SOURCE_FORMAT
    """:data:`SOURCE_FORMAT`, :data:`COMPATIBLE_FORMAT` or FFmpeg's name of a format."""
    threads: int | None = None
    """None: as :func:`encoder_threads` has it."""
    options: tuple[tuple[str, str], ...] = ()
    """Further private options of the encoder; they override those made of quality and preset."""


def encoder_threads(settings: EncoderSettings, size: Size) -> int:
    """How many threads an encoder has; a matter of the settings and the size alone, since the result depends on it.

    Args:
        settings: of the encoder; a number of threads in them is kept.
        size: of the frames.
    """
    if settings.threads is not None:
        return settings.threads
    if settings.encoder not in ("libx264", "libx264rgb") or PRESETS.index(settings.preset) > PRESETS.index(QUICK):
        return ENCODER_THREADS
    return QUICK_THREADS_LARGE if size.is_large else QUICK_THREADS


def _scaled(quality: int, worst: int) -> str:
    """A quantiser from ``worst`` (quality 0) to 0 (quality 100)."""
    return str(round(worst - worst * quality / 100))


def _x26x(settings: EncoderSettings) -> dict[str, str]:
    return {"crf": _scaled(settings.quality, 51), "preset": settings.preset}


def _x265(settings: EncoderSettings) -> dict[str, str]:
    threads = settings.threads or ENCODER_THREADS
    return {**_x26x(settings), "x265-params": f"pools={threads}:frame-threads={min(threads, 4)}:log-level=error"}


def _vp9(settings: EncoderSettings) -> dict[str, str]:
    return {"crf": _scaled(settings.quality, 63), "b": "0", "deadline": "realtime", "cpu-used": "5", "row-mt": "1"}


def _svt_av1(settings: EncoderSettings) -> dict[str, str]:
    # Presets from 10 on are called unfit for watching by the encoder itself; a crf of 0 would mean its default.
    preset = str(9 - PRESETS.index(settings.preset))
    crf = str(max(int(_scaled(settings.quality, 63)), 1))
    return {"crf": crf, "preset": preset, "svtav1-params": f"lp={AV1_PARALLELISM}"}


NVENC_PRESETS: dict[str, str] = {"medium": "medium", "slow": "slow", "slower": "slow", "veryslow": "slow"}
AMF_QUALITIES: dict[str, str] = {
    "faster": "balanced",
    "fast": "balanced",
    "medium": "balanced",
    "slow": "quality",
    "slower": "quality",
    "veryslow": "quality",
}


def _nvenc(settings: EncoderSettings) -> dict[str, str]:
    # 0 would leave the quality to the driver.
    worst = 63 if settings.encoder.startswith("av1") else 51
    quantiser = str(max(int(_scaled(settings.quality, worst)), 1))
    return {"cq": quantiser, "b": "0", "preset": NVENC_PRESETS.get(settings.preset, "fast")}


def _amf(settings: EncoderSettings) -> dict[str, str]:
    quantiser = _scaled(settings.quality, 51)
    return {
        "rc": "cqp",
        **{f"qp_{kind}": quantiser for kind in "ipb"},
        "quality": AMF_QUALITIES.get(settings.preset, "speed"),
    }


def _qsv(settings: EncoderSettings) -> dict[str, str]:
    preset = "veryfast" if settings.preset in ("ultrafast", "superfast") else settings.preset
    return {"global_quality": _scaled(settings.quality, 51), "preset": preset}


def _vaapi(settings: EncoderSettings) -> dict[str, str]:
    # 0 would leave the choice to the driver.
    return {"rc_mode": "CQP", "qp": str(max(int(_scaled(settings.quality, 51)), 1))}


def _videotoolbox(settings: EncoderSettings) -> dict[str, str]:
    # FaceFusion's scale, since it has no constant quality on all machines: 1 Mbit/s at 0, 50.5 Mbit/s at 100.
    return {"b": f"{round(1024 + 494.88 * settings.quality)}k"}


def _raw(settings: EncoderSettings) -> dict[str, str]:
    return {}


ENCODERS: Mapping[str, Callable[[EncoderSettings], dict[str, str]]] = {
    "libx264": _x26x,
    "libx264rgb": _x26x,
    "libx265": _x265,
    "libvpx-vp9": _vp9,
    "libsvtav1": _svt_av1,
    "h264_nvenc": _nvenc,
    "hevc_nvenc": _nvenc,
    "av1_nvenc": _nvenc,
    "h264_amf": _amf,
    "hevc_amf": _amf,
    "h264_qsv": _qsv,
    "hevc_qsv": _qsv,
    "h264_vaapi": _vaapi,
    "hevc_vaapi": _vaapi,
    "h264_videotoolbox": _videotoolbox,
    "hevc_videotoolbox": _videotoolbox,
    RAW: _raw,
}
"""Encoders by name, with their options for given settings."""


def encoder_options(settings: EncoderSettings) -> dict[str, str]:
    """Private options for the encoder."""
    made_of = ENCODERS.get(settings.encoder, _raw)
    return {**made_of(settings), **dict(settings.options)}
