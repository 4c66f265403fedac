"""Containers that videos are written in, by the extension of the output."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from facefusion.core.errors import OutputError


@dataclass(frozen=True, slots=True)
class Container:
    """One container: FFmpeg's muxer and what it can hold."""

    muxer: str
    encoders: tuple[str, ...] = ()
    """The video encoders it can hold, the one to use instead first; empty: all but ``refused``."""
    refused: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    encoder_options: tuple[tuple[str, str], ...] = ()
    constant_rate: bool = False
    """Frames have numbers, not times: a variable rate cannot be kept."""
    slack: int = 1
    """Frames by which the length read back may be off: some containers keep coding times alone."""
    attachments: bool = False
    sound: str = "aac"
    """Encoder for sound that cannot be copied."""
    refused_sound: tuple[str, ...] = ()
    """Codecs that FFmpeg's muxer promises to hold and then refuses."""
    in_band: bool = False
    """Has no place of its own for H.264's and HEVC's parameter sets: they go into the stream."""
    edit_lists: bool = False
    """Can hold packets that are decoded but not shown, and a cover as a stream."""

    def holds(self, kind: str) -> bool:
        """Whether a cover or an attachment can be kept."""
        return self.attachments or (kind == "cover" and self.edit_lists)

    def encoder_for(self, wanted: str) -> str:
        """The encoder to use where ``wanted`` was asked for."""
        if self.encoders:
            return wanted if wanted in self.encoders else self.encoders[0]
        return "libx264" if wanted in self.refused else wanted


FAST_START = (("movflags", "+faststart"),)
IN_ORDER = (("bf", "0"),)
"""Without B-frames: a container that numbers frames in coding order would show them late."""

HARDWARE = ("nvenc", "amf", "qsv", "vaapi", "videotoolbox")
HEVC = ("libx265", *(f"hevc_{kind}" for kind in HARDWARE))
H26X = ("libx264", *(f"h264_{kind}" for kind in HARDWARE), *HEVC)
NOT_IN_MPEG = ("aac", "opus", "flac", "vorbis", "pcm_s16le", "pcm_s24le", "pcm_s32le", "alac")

CONTAINERS: dict[str, Container] = {
    ".avi": Container("avi", in_band=True, refused=HEVC, encoder_options=IN_ORDER, constant_rate=True),
    ".m4v": Container("mp4", encoders=H26X, options=FAST_START, edit_lists=True),
    ".mkv": Container("matroska", refused=("rawvideo",), attachments=True),
    ".mov": Container(
        "mov", refused=("libvpx-vp9", "libsvtav1"), refused_sound=("opus", "flac"), options=FAST_START, edit_lists=True
    ),
    ".mp4": Container("mp4", refused=("rawvideo",), options=FAST_START, edit_lists=True),
    ".mpeg": Container("mpeg", in_band=True, encoders=("libx264",), sound="mp2", refused_sound=NOT_IN_MPEG, slack=2),
    ".mpg": Container("mpeg", in_band=True, encoders=("libx264",), sound="mp2", refused_sound=NOT_IN_MPEG, slack=2),
    ".mxf": Container("mxf", in_band=True, encoders=("libx264",), constant_rate=True, sound="pcm_s16le"),
    ".webm": Container("webm", encoders=("libvpx-vp9", "libsvtav1"), sound="libopus"),
    ".wmv": Container("asf", in_band=True, encoders=("libx264",), encoder_options=IN_ORDER, slack=3),
}
"""By lower-case extension."""


def container_of(path: Path) -> Container:
    """The container that a path's extension names.

    Raises:
        OutputError: none that can be written.
    """
    container = CONTAINERS.get(path.suffix.lower())
    if container is None:
        raise OutputError(
            f"{path} has no extension of a video that can be written", f"Use one of {', '.join(CONTAINERS)}."
        )
    return container
