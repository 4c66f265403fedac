"""How much memory decoders and encoders take.

Measured as the growth of resident memory from before the encoder was opened to its highest point, with the program's
own settings and its allocator as :func:`facefusion.memory.release.keep_little` leaves it, at 1280 x 720 and at
1920 x 1080 or 3840 x 2160, x264 also at 7680 x 4320 and with 10 bits and 4:4:4. Between the sizes it grows with the
bytes of a frame, so an encoder has two numbers. They hold for its look-ahead filled, a short video takes less, and for
memory in huge pages, without which x264 takes 20 to 30 MiB less
(:func:`facefusion.memory.release.refuse_huge_pages`).

Whole runs with the embedded models, peak in MiB as measured and as reckoned:

| case | measured | reckoned |
|---|---|---|
| 360p | 307 | 383 |
| 720p | 402 | 460 |
| 720p, preset medium | 494 | 553 |
| 720p, x265 | 617 | 667 |
| 720p, AV1 | 757 | 784 |
| 1080p | 502 | 593 |
| 1080p, AV1 ultrafast | 885 | 961 |
| 2160p | 1024 | 1163 |
| 2160p, ultrafast | 573 | 725 |
| 2160p, VP9 | 1446 | 1584 |
| 360p, networks of real size | 1025 | 1233 |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import av

from facefusion.core.values import Size

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Held:
    """What a codec keeps."""

    mebibytes: int
    """Whatever the size of frames."""
    frames: int
    """As many times the bytes of a frame."""

    def bytes(self, frame_bytes: int) -> int:
        """All of it, for frames of so many bytes."""
        return self.mebibytes * MEBIBYTE + self.frames * frame_bytes


X264 = {
    "ultrafast": Held(32, 11),
    "superfast": Held(32, 33),
    "veryfast": Held(32, 48),
    "faster": Held(32, 69),
    "fast": Held(32, 93),
    "medium": Held(32, 118),
    "slow": Held(32, 146),
    "slower": Held(32, 184),
    "veryslow": Held(32, 260),
}
"""By preset. Frames that are searched are kept with copies at half a sample, so each counts for three of its own."""

X265 = {
    "ultrafast": Held(72, 96),
    "superfast": Held(90, 106),
    "veryfast": Held(150, 114),
    "faster": Held(150, 118),
    "fast": Held(150, 118),
    "medium": Held(150, 136),
    "slow": Held(150, 160),
    "slower": Held(150, 255),
    "veryslow": Held(150, 255),
}

SVT_AV1 = {
    "9": Held(92, 151),
    "8": Held(145, 220),
    "7": Held(145, 220),
    "6": Held(145, 220),
    "5": Held(145, 265),
    "4": Held(145, 265),
    "3": Held(145, 285),
    "2": Held(145, 305),
    "1": Held(145, 305),
}
"""By its own presets, of which we use these; all of it is taken when the encoder is opened."""

PRESETS: Mapping[str, Mapping[str, Held]] = {
    "libx264": X264,
    "libx264rgb": X264,
    "libx265": X265,
    "libsvtav1": SVT_AV1,
}
"""Encoders whose memory follows from their preset."""

OTHERS = {"libvpx-vp9": Held(60, 81), "ffv1": Held(10, 27), "rawvideo": Held(0, 4)}

UNKNOWN = Held(120, 16)
"""Of an encoder on a device, or of a program of its own: the program's libraries, and frames on their way. A guess."""

FEW_REFERENCES, MANY_REFERENCES = 8, 16
"""Frames that a stream may refer to: as many as the standards allow, which is less for large ones."""


def decoder_bytes(size: Size, frame_bytes: int, threads: int) -> int:
    """What a decoder keeps that runs on the processor.

    Measured with H.264 that refers to three frames: 10 frames with one thread, 12 with two, 23 with eight.

    Args:
        size: of its frames.
        frame_bytes: of one.
        threads: each has two frames of its own.
    """
    references = FEW_REFERENCES if size.is_large else MANY_REFERENCES
    return Held(8, references + 2 + 2 * threads).bytes(frame_bytes)


def encoder_bytes(encoder: str, options: Mapping[str, str], frame_bytes: int) -> int:
    """What an encoder keeps.

    Args:
        encoder: FFmpeg's name of it.
        options: that it is told.
        frame_bytes: of a frame as it is encoded.
    """
    presets = PRESETS.get(encoder)
    if presets is None:
        return OTHERS.get(encoder, UNKNOWN).bytes(frame_bytes)
    return presets.get(options.get("preset", ""), max(presets.values(), key=lambda held: held.frames)).bytes(
        frame_bytes
    )


def encoded_frame_bytes(pixel_format: str, size: Size) -> int:
    """Bytes of a frame of a pixel format of FFmpeg."""
    return math.ceil(size.width * size.height * av.VideoFormat(pixel_format).padded_bits_per_pixel / 8)
