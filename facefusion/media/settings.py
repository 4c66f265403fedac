"""Options of reading and writing media."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from facefusion.config.option import EXECUTION_COMMANDS, Form, Scope, option, settings_group
from facefusion.core.errors import UsageError
from facefusion.core.formats import MediaKind, is_moving_image, kind_of
from facefusion.media.encoder import ENCODERS, PRESETS, SOURCE_FORMAT
from facefusion.media.sound_encoder import SOUND_ENCODERS, SoundSettings

if TYPE_CHECKING:
    from facefusion.media.output_size import OutputSize

AUTO = "auto"
GPU = "gpu"
DISK = "disk"
FRAME_FORMAT_NAMES = ("bmp", "jpeg", "png", "tiff")
LEAST_SCALE, MOST_SCALE = 0.25, 8.0
RESOLUTION = Form(r"[1-9][0-9]{0,4}[xX][1-9][0-9]{0,4}", "WIDTHxHEIGHT, each between 1 and 99999")
ARTICLES = {MediaKind.IMAGE: "an", MediaKind.VIDEO: "a"}


@settings_group(section="output_creation")
class OutputSettings:
    """How results are written."""

    output_image_quality: int = option(80, "quality of JPEG and WebP results; 100 is the best", minimum=0, maximum=100)
    output_image_scale: float | None = option(
        None,
        "size of image results, as a factor on the target's; where empty, what the processors give",
        minimum=LEAST_SCALE,
        maximum=MOST_SCALE,
        facefusion_default="1.0",
    )
    output_image_resolution: str | None = option(
        None, "exact size of image results, in place of a factor", form=RESOLUTION, metavar="WIDTHxHEIGHT", own=True
    )
    output_audio_encoder: str | None = option(
        None,
        "audio encoder; where empty, sound is copied as it is",
        choices=tuple(SOUND_ENCODERS),
        facefusion_default="flac",
        former_defaults=("aac",),
    )
    output_audio_quality: int | None = option(
        None,
        "quality of the sound; 100 is the best; asking for one has the sound encoded anew",
        minimum=0,
        maximum=100,
        facefusion_default="80",
    )
    output_audio_volume: int = option(
        100, "loudness of the sound in percent of the target's; 0 leaves it out", minimum=0, maximum=100
    )
    output_video_encoder: str = option("libx264", "video encoder", choices=tuple(ENCODERS))
    output_video_preset: str = option(
        "veryfast", "how much time the encoder takes to make the file smaller", choices=PRESETS
    )
    output_video_quality: int = option(80, "quality of video results; 100 is the best", minimum=0, maximum=100)
    output_video_pixel_format: str = option(
        SOURCE_FORMAT,
        "pixel format of video results: 'source' keeps the target's depth and subsampling where the encoder can, "
        "'compatible' is 8-bit 4:2:0, which everything plays; or a name of FFmpeg's",
        own=True,
    )
    output_video_scale: float | None = option(
        None,
        "size of video results, as a factor on the target's, rounded to even numbers; where empty, what the "
        "processors give",
        minimum=LEAST_SCALE,
        maximum=MOST_SCALE,
        facefusion_default="1.0",
    )
    output_video_resolution: str | None = option(
        None, "exact size of video results, in place of a factor", form=RESOLUTION, metavar="WIDTHxHEIGHT", own=True
    )
    output_video_fps: float | None = option(
        None,
        "constant frames per second of video results; frames are dropped or repeated, the sound stays as it is; the "
        "target's own times where empty",
        minimum=0.1,
        maximum=1000,
    )

    @property
    def sound(self) -> SoundSettings:
        """What is asked of the sound."""
        return SoundSettings(self.output_audio_encoder, self.output_audio_quality, self.output_audio_volume)

    def size_of(self, output: Path) -> OutputSize:
        """What is asked of a result's size; that of an animated image is an image's.

        Raises:
            UsageError: a factor and a resolution are given, which both say it.
        """
        # Help and the doctor do without NumPy.
        from facefusion.core.values import Size  # noqa: PLC0415
        from facefusion.media.output_size import OutputSize  # noqa: PLC0415

        if kind_of(output) is MediaKind.IMAGE:
            kind, scale, resolution = MediaKind.IMAGE, self.output_image_scale, self.output_image_resolution
        else:
            kind, scale, resolution = MediaKind.VIDEO, self.output_video_scale, self.output_video_resolution
        if resolution is None:
            return OutputSize(scale, None, multiple=2 if kind is MediaKind.VIDEO else 1)
        if scale is not None:
            names = f"--output-{kind.value}-scale {scale:g} and --output-{kind.value}-resolution {resolution}"
            raise UsageError(f"{names} both say how large {output} is to be", "Give one of them.")
        return OutputSize(None, Size(*map(int, resolution.lower().split("x"))))

    @property
    def output_video_rate(self) -> Fraction | None:
        """``output_video_fps`` as the fraction that is meant: 29.97 is 30000/1001."""
        return None if self.output_video_fps is None else exact_rate(self.output_video_fps)


def exact_rate(rate: float) -> Fraction:
    """The fraction that a rounded frame rate stands for: a multiple of 1/1001 where it is one of television's."""
    television = Fraction(round(rate * 1.001) * 1000, 1001)
    if rate != round(rate) and television and abs(float(television) - rate) < 0.005:
        return television
    return Fraction(rate).limit_denominator(1000)


@settings_group(section="frame_extraction", commands=(*EXECUTION_COMMANDS, "doctor"))
class DecodingSettings:
    """What decodes target videos."""

    decoder_device: str = option(
        AUTO,
        "what decodes target videos: 'auto' is the NVIDIA card that graphs run on, where it gives the same frames as "
        "the processor, else the processor; 'gpu' refuses what a card cannot decode",
        choices=(AUTO, "cpu", GPU),
        scope=Scope.JOB,
        own=True,
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


@settings_group(section="workflow")
class WorkflowSettings:
    """How a step goes about a video."""

    workflow_mode: str = option(
        AUTO,
        "what the target has to be, as a safeguard: 'image-to-image' takes images only, 'image-to-video' videos only",
        choices=(AUTO, "image-to-image", "image-to-video"),
    )
    workflow_strategy: str = option(
        "memory",
        "'disk' also writes the finished frames of a video as image files; the result is the same",
        choices=("memory", DISK),
    )
    temp_frame_format: str = option(
        "png",
        "format of frames that --workflow-strategy disk writes; JPEG loses a little, BMP what is deeper than 8 bits",
        choices=FRAME_FORMAT_NAMES,
        value_aliases={"jpg": "jpeg", "tif": "tiff"},
        section="frame_extraction",
    )
    temp_pixel_format: str = option(
        "bgr24",
        "taken so that older command lines run; frames keep the target's own pixel format, transparency too",
        choices=("bgr24", "bgra"),
        section="frame_extraction",
        pending="frames keep the target's own pixel format, and transparency where the result can hold it",
    )
    keep_temp: bool = option(
        False,
        "keep the frames that --workflow-strategy disk writes; the same command takes over what is changed in them",
        section="frame_extraction",
        own=True,
    )

    @property
    def frame_format(self) -> str | None:
        """Format in which frames are to be written; none where they are not."""
        return self.temp_frame_format if self.workflow_strategy == DISK else None

    def check_target(self, target: Path, kind: MediaKind) -> None:
        """Make sure that the target is what it has to be; an image that moves may pass for both.

        Args:
            target: the file.
            kind: of what it holds.

        Raises:
            UsageError: it is something else.
        """
        wanted = {"image-to-image": MediaKind.IMAGE, "image-to-video": MediaKind.VIDEO}.get(self.workflow_mode, kind)
        if wanted is not kind and not (kind is MediaKind.VIDEO and is_moving_image(target)):
            raise UsageError(
                f"{target} is {ARTICLES[kind]} {kind.value}, and --workflow-mode {self.workflow_mode} takes "
                f"{wanted.value}s only",
                "Leave --workflow-mode out, or choose another target.",
            )

    def notices(self, kind: MediaKind) -> tuple[str, ...]:
        """What is asked for and does nothing to a target of that kind."""
        if not self.keep_temp or (kind is MediaKind.VIDEO and self.workflow_strategy == DISK):
            return ()
        if kind is MediaKind.IMAGE:
            return ("--keep-temp keeps nothing of an image: the result is its only frame.",)
        return ("--keep-temp keeps nothing without --workflow-strategy disk, which writes frames to files.",)


def _from_zero(number: int | None) -> int | None:
    return None if number is None else max(number, 0)
