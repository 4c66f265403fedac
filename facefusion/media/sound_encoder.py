"""Sound encoders: what each wants to be told for a quality of 0 to 100.

The options are declared from the names here, and help does not wait for FFmpeg.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

LAMBDA = 118
"""FFmpeg's FF_QP2LAMBDA: a quality scale of 1 in the unit of ``global_quality``."""

FULL_VOLUME = 100

TRANSPARENT_BIT_RATE = 96_000
"""Bits per second and channel where no quality was asked for; hard to tell from the source for AAC and Opus."""


@dataclass(frozen=True, slots=True)
class SoundSettings:
    """What is asked of the result's sound; by default it is copied."""

    encoder: str | None = None
    """None: the packets are copied, and encoded anew only where the container cannot hold them."""
    quality: int | None = None
    """0 (smallest) to 100 (best); none for the encoder's own."""
    volume: int = FULL_VOLUME
    """Percent of the source's; 0 leaves all sound out."""

    @property
    def copies(self) -> bool:
        """Whether nothing was asked for that needs encoding."""
        return self.encoder is None and self.quality is None and self.volume == FULL_VOLUME

    @property
    def gain(self) -> float:
        """Factor on every sample."""
        return self.volume / FULL_VOLUME


def _by_scale(worst: float, best: float) -> Callable[[int, int], dict[str, str]]:
    """A variable bit rate on the encoder's own scale of quality."""

    def options(quality: int, channels: int) -> dict[str, str]:
        scale = round(worst * 10 + (best - worst) * quality / 10) / 10
        return {"flags": "+qscale", "global_quality": str(round(scale * LAMBDA))}

    return options


def _by_step(worst: int, best: int) -> Callable[[int, int], dict[str, str]]:
    """The same in whole steps."""

    def options(quality: int, channels: int) -> dict[str, str]:
        step = round(worst + (best - worst) * quality / 100)
        return {"flags": "+qscale", "global_quality": str(step * LAMBDA)}

    return options


def _opus(quality: int, channels: int) -> dict[str, str]:
    return {"b": str(round((64 + 192 * quality / 100) * 500) * channels)}


def _lossless(quality: int, channels: int) -> dict[str, str]:
    return {}


SOUND_ENCODERS: Mapping[str, Callable[[int, int], dict[str, str]]] = {
    "flac": _lossless,
    "aac": _by_scale(0.1, 2.0),
    "libmp3lame": _by_step(9, 0),
    "libopus": _opus,
    "libvorbis": _by_scale(-1.0, 10.0),
    "pcm_s16le": _lossless,
    "pcm_s32le": _lossless,
}
"""FaceFusion's encoders with its scales of quality; those of Opus are for two channels there."""

LOSSLESS = tuple(name for name, options in SOUND_ENCODERS.items() if options is _lossless)


def sound_options(encoder: str, quality: int | None, channels: int) -> dict[str, str]:
    """Private options for an encoder.

    Args:
        encoder: FFmpeg's name; one beside :data:`SOUND_ENCODERS` is given a bit rate.
        quality: 0 to 100; none for :data:`TRANSPARENT_BIT_RATE`.
        channels: of the sound.
    """
    if encoder in LOSSLESS:
        return {}
    if quality is None or encoder not in SOUND_ENCODERS:
        return {"b": str(TRANSPARENT_BIT_RATE * channels)}
    return SOUND_ENCODERS[encoder](quality, channels)
