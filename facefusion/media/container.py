"""Containers that videos are written in, by the extension of the output."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from facefusion.core.errors import OutputError


@dataclass(frozen=True, slots=True)
class SoundRules:
    """What a container does with sound."""

    copied: frozenset[str] | None = None
    """Codecs that players expect in it, by FFmpeg's names; none: whatever the muxer takes."""
    encoder: str = "aac"
    """For sound that cannot be copied."""
    encoders: tuple[str, ...] | None = None
    """Those of the user's choice that it can hold beside ``encoder``; none: all."""
    rate: int | None = None
    """Samples per second that it asks for."""
    timed: bool = True
    """Whether sound has times of its own; if not, it has to begin with the picture."""
    mp3_rate: int = 0
    """Least samples per second at which FFmpeg's muxer writes MP3 that plays well."""
    with_picture: bool = False
    """Whether sound cannot go on after the picture."""
    bare_aac: bool = True
    """Whether it takes AAC as transport streams have it, each packet with a header of its own and none for all."""
    priming: bool = True
    """Whether it says how much of the decoder's first sound is thrown away, or keeps times of before 0."""

    def holds(self, codec: str, rate: int) -> bool:
        """Whether sound of a codec and a rate can be copied, as far as is known before trying."""
        if codec == "mp3" and rate < self.mp3_rate:
            return False
        return self.copied is None or codec in self.copied or (codec.startswith("pcm_") and "pcm" in self.copied)

    def encoder_for(self, wanted: str | None) -> str:
        """The encoder to use where ``wanted`` was asked for."""
        if wanted is None or (self.encoders is not None and wanted not in self.encoders):
            return self.encoder
        return wanted


@dataclass(frozen=True, slots=True)
class Container:
    """One container: FFmpeg's muxer and what it can hold."""

    muxer: str
    encoders: tuple[str, ...] = ()
    """The video encoders it can hold, the one to use instead first; empty: all but ``refused``."""
    refused: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    encoder_options: tuple[tuple[str, str], ...] = ()
    rates: tuple[Fraction, ...] = ()
    """Frames a second that it can have; empty: any."""
    constant_rate: bool = False
    """Frames have numbers, not times: a variable rate cannot be kept."""
    begins_at_once: bool = False
    """The first frame is shown from 0 on, whatever its time is; those after it have theirs."""
    slack: int = 1
    """Frames by which the length read back may be off: some containers keep coding times alone, or give only the first
    of the frames that share a packet a time."""
    attachments: bool = False
    sound: SoundRules = SoundRules()
    subtitles: str | None = None
    """What text subtitles are converted to; none where it holds none."""
    in_band: bool = False
    """Has no place of its own for H.264's and HEVC's parameter sets: they go into the stream."""
    edit_lists: bool = False
    """Can hold packets that are decoded but not shown."""
    covers: bool = False
    """Can hold a cover as a stream."""

    def rate_for(self, rate: Fraction) -> Fraction:
        """The rate to use for pictures of a rate: one that shows each of them, as evenly as can be."""
        if not self.rates or rate in self.rates:
            return rate
        multiples = [one for one in self.rates if one > rate and (one / rate).denominator == 1]
        higher = [one for one in self.rates if one > rate]
        return min(multiples or higher, default=max(self.rates))

    def encoder_for(self, wanted: str) -> str:
        """The encoder to use where ``wanted`` was asked for."""
        if self.encoders:
            return wanted if wanted in self.encoders else self.encoders[0]
        return "libx264" if wanted in self.refused else wanted


MP4_OPTIONS = (("movflags", "+faststart"), ("movie_timescale", "240000"))
"""The index comes first, and edit lists are written in a clock that fits rates of pictures and of sound to a sample;
FFmpeg's own counts milliseconds."""
IN_ORDER = (("bf", "0"),)
"""Without B-frames: a container that numbers frames in coding order would show them late."""

SHORT_GROUPS = (("g", "129"),)
"""A key frame at least so often: MXF's index counts back to it in one signed byte (SMPTE 377-1, key frame offset), and
FFmpeg's muxer fails at the end of the file where that is not enough."""

HARDWARE = ("nvenc", "amf", "qsv", "vaapi", "videotoolbox")
HEVC = ("libx265", *(f"hevc_{kind}" for kind in HARDWARE))
H26X = ("libx264", *(f"h264_{kind}" for kind in HARDWARE), *HEVC)
APPLE_SOUND = frozenset(("aac", "ac3", "alac", "eac3", "mp3"))

IN_AVI = SoundRules(
    frozenset(("aac", "ac3", "dts", "mp2", "mp3", "pcm")),
    encoders=("aac", "libmp3lame", "pcm_s16le", "pcm_s32le"),
    timed=False,
    mp3_rate=32_000,
    bare_aac=False,
    priming=False,
)
IN_M4V = SoundRules(APPLE_SOUND, encoders=("aac",), mp3_rate=16_000)
IN_MKV = SoundRules()
IN_MOV = SoundRules(APPLE_SOUND | {"pcm"}, encoders=("aac", "libmp3lame", "pcm_s16le", "pcm_s32le"), mp3_rate=16_000)
IN_MP4 = SoundRules(
    APPLE_SOUND | {"dts", "flac", "mp2", "opus"},
    encoders=("aac", "flac", "libmp3lame", "libopus", "pcm_s16le", "pcm_s32le"),
    mp3_rate=16_000,
)
IN_MPEG = SoundRules(frozenset(("ac3", "mp2")), encoder="mp2", encoders=("mp2",), rate=48_000)
IN_MXF = SoundRules(
    frozenset(), encoder="pcm_s16le", encoders=("pcm_s16le",), rate=48_000, timed=False, with_picture=True
)
IN_WEBM = SoundRules(frozenset(("opus", "vorbis")), encoder="libopus", encoders=("libopus", "libvorbis"))
IN_WMV = SoundRules(
    frozenset(("aac", "ac3", "mp3", "pcm", "wmapro", "wmav1", "wmav2")),
    encoders=("aac", "libmp3lame"),
    bare_aac=False,
    priming=False,
)

TELEVISION = Fraction(1000, 1001)
MXF_RATES = (
    *(Fraction(rate) for rate in (24, 25, 30, 48, 50, 60, 72, 75, 90, 96, 100, 120)),
    *(rate * TELEVISION for rate in (24, 30, 48, 60)),
)
"""What FFmpeg's muxer takes and its reader reads as it was."""

CONTAINERS: dict[str, Container] = {
    ".avi": Container(
        "avi",
        in_band=True,
        refused=HEVC,
        encoder_options=IN_ORDER,
        constant_rate=True,
        begins_at_once=True,
        sound=IN_AVI,
    ),
    ".m4v": Container(
        "mp4", encoders=H26X, options=MP4_OPTIONS, edit_lists=True, covers=True, sound=IN_M4V, subtitles="mov_text"
    ),
    ".mkv": Container("matroska", refused=("rawvideo",), attachments=True, sound=IN_MKV, subtitles="subrip"),
    ".mov": Container(
        "mov",
        refused=("libvpx-vp9", "libsvtav1", "av1_nvenc"),
        options=MP4_OPTIONS,
        edit_lists=True,
        sound=IN_MOV,
        subtitles="mov_text",
    ),
    ".mp4": Container(
        "mp4",
        refused=("rawvideo",),
        options=MP4_OPTIONS,
        edit_lists=True,
        covers=True,
        sound=IN_MP4,
        subtitles="mov_text",
    ),
    ".mpeg": Container("mpeg", in_band=True, encoders=("libx264",), sound=IN_MPEG, slack=8),
    ".mpg": Container("mpeg", in_band=True, encoders=("libx264",), sound=IN_MPEG, slack=8),
    ".mxf": Container(
        "mxf",
        in_band=True,
        encoders=("libx264",),
        encoder_options=IN_ORDER + SHORT_GROUPS,
        constant_rate=True,
        rates=MXF_RATES,
        sound=IN_MXF,
    ),
    ".webm": Container("webm", encoders=("libvpx-vp9", "libsvtav1", "av1_nvenc"), sound=IN_WEBM, subtitles="webvtt"),
    ".wmv": Container("asf", in_band=True, encoders=("libx264",), encoder_options=IN_ORDER, sound=IN_WMV, slack=3),
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
