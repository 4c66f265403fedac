"""Options of reading and writing media."""

from __future__ import annotations

from facefusion.config.option import option, settings_group
from facefusion.media.encoder import ENCODERS, PRESETS, SOURCE_FORMAT


@settings_group(section="output_creation")
class OutputSettings:
    """How results are written."""

    output_image_quality: int = option(80, "quality of JPEG and WebP results, 0 to 100", minimum=0, maximum=100)
    output_video_encoder: str = option("libx264", "video encoder", choices=tuple(ENCODERS))
    output_video_preset: str = option(
        "veryfast", "how much time the encoder takes to make the file smaller", choices=PRESETS
    )
    output_video_quality: int = option(80, "quality of video results, 0 to 100", minimum=0, maximum=100)
    output_video_pixel_format: str = option(
        SOURCE_FORMAT,
        "pixel format of video results: 'source' keeps the target's depth and subsampling where the encoder can, "
        "'compatible' is 8-bit 4:2:0, which everything plays; or a name of FFmpeg's",
    )


@settings_group(section="frame_extraction")
class TrimSettings:
    """Which part of a target video is worked on."""

    trim_frame_start: int | None = option(None, "first frame, counted from 0; the first of all where empty")
    trim_frame_end: int | None = option(None, "frame before which to stop; the end where empty")

    @property
    def bounds(self) -> tuple[int | None, int | None]:
        """First frame and the one before which to stop; below 0 means 0, as in FaceFusion."""
        return _from_zero(self.trim_frame_start), _from_zero(self.trim_frame_end)


def _from_zero(number: int | None) -> int | None:
    return None if number is None else max(number, 0)
