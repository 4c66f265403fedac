"""What is made of a video: its part, its encoding, and where it is cut."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from facefusion.core.errors import MediaError, UsageError
from facefusion.media.assemble import Sound
from facefusion.media.decoder_card import DecoderCard
from facefusion.media.encoding import Encoding
from facefusion.media.finishing import AS_WRITTEN, Finishing
from facefusion.media.frame_image import FrameFormat
from facefusion.media.probe import MediaInfo
from facefusion.pipeline.segments import SegmentPlan
from facefusion.pipeline.window import WindowPlan


@dataclass(frozen=True, slots=True)
class Trim:
    """The part of a video that is worked on; frame indices, ``end`` exclusive."""

    start: int | None = None
    end: int | None = None

    def check(self) -> None:
        """Make sure that a part is meant.

        Raises:
            UsageError: it ends before it begins.
        """
        if self.end is not None and self.end <= (self.start or 0):
            raise UsageError(
                f"the part from frame {self.start or 0} to before {self.end} holds no frame",
                "Choose a --trim-frame-end above --trim-frame-start.",
            )

    def count(self, info: MediaInfo) -> int | None:
        """How many frames that is, as far as the header tells."""
        total = self.end if info.frame_count is None else min(self.end or info.frame_count, info.frame_count)
        return None if total is None else max(total - (self.start or 0), 0)

    def none_in(self, info: MediaInfo) -> MediaError:
        """What to raise where a target turns out to have no frame of the part."""
        return MediaError(
            f"{info.path} has no frame from {self.start or 0} on",
            "Choose another --trim-frame-start or --trim-frame-end.",
        )


@dataclass(frozen=True, slots=True)
class VideoPlan:
    """What is made of a video, and how much of it at once."""

    output: Path
    encoding: Encoding
    sound: Sound
    image_quality: int
    """0..100, of an animated image."""
    trim: Trim
    segment_frames: int
    together: int
    """Frames that are worked on together, at least 1; part of what decides the result."""
    window: WindowPlan
    """Of groups of so many frames."""
    decoder_threads: int
    frame_format: FrameFormat | None = None
    """Of the files that finished frames are written to as well; none where they are not."""
    keep_folder: bool = False
    """Whether the work folder stays when the result is in place."""
    decoder_card: DecoderCard | None = None
    """Decodes as long as it gives the same frames; none where the processor does."""
    finishing: Finishing = AS_WRITTEN
    """What the result says of itself."""

    @property
    def segments(self) -> SegmentPlan:
        """Where the video is cut."""
        return SegmentPlan(self.trim.start or 0, self.trim.end, self.segment_frames)

    @property
    def rate(self) -> Fraction | None:
        """Frames per second of the result; where none, every frame keeps its time."""
        return self.encoding.frame_rate if self.encoding.constant_rate else None
