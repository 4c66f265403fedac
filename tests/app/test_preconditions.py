"""What is refused of a step before anything is opened."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import pytest

from facefusion.app.preconditions import check_output, conditions
from facefusion.cli.application import load_application
from facefusion.cli.main import program_schema
from facefusion.config.state import Snapshot
from facefusion.core.errors import FaceFusionError, MediaError, OptionError, OutputError, UsageError
from facefusion.core.formats import MediaKind
from facefusion.core.values import Size
from facefusion.media.encoding import MOST_SIDES, check_size
from facefusion.media.orientation import Orientation
from facefusion.media.probe import MediaInfo

SIZE = Size(1280, 720)
CLIP = MediaInfo(
    Path("target.mp4"), MediaKind.VIDEO, "mp4", SIZE, SIZE, Orientation(), "yuv420p", bit_depth=8, frame_count=100
)
PHOTO = replace(CLIP, path=Path("target.png"), kind=MediaKind.IMAGE, frame_count=1)


def snapshot(**values: object) -> Snapshot:
    usual: dict[str, object] = {
        "target_path": Path("target.mp4"), "source_paths": (Path("face.jpg"),), "output_path": Path("out.mp4"),
    }  # fmt: skip
    return Snapshot(program_schema(load_application()), {}, {}).with_values(usual | values)


def check_step(snapshot: Snapshot, info: MediaInfo) -> None:
    for _, check in conditions(snapshot, info):
        check()


def test_what_can_be_done_passes_without_any_file() -> None:
    check_step(snapshot(), CLIP)
    check_step(snapshot(target_path=Path("target.png"), output_path=Path("out.jpg")), PHOTO)
    check_step(snapshot(output_path=Path("out.gif"), trim_frame_start=10, trim_frame_end=20), CLIP)
    check_step(snapshot(processors=("face_debugger",), source_paths=()), CLIP)


@pytest.mark.parametrize(
    ("values", "kind", "option", "text"),
    [
        ({"source_paths": ()}, UsageError, "source_paths", "face_swapper needs a source face"),
        ({"source_paths": (Path("voice.wav"),)}, UsageError, "source_paths", "face_swapper needs a source face"),
        (
            {"processors": ("face_debugger",), "source_paths": (), "face_selector_gender": "auto"},
            UsageError,
            "source_paths",
            "face_selector_gender = auto needs a source face",
        ),
        ({"output_path": Path("out.jpg")}, UsageError, "output_path", ".jpg does not name a format for the video"),
        ({"output_path": Path("out.wav")}, UsageError, "output_path", ".wav does not name a format for the video"),
        ({"workflow_mode": "image-to-image"}, UsageError, "workflow_mode", "takes images only"),
        ({"label": "one\ntwo"}, OptionError, "label", "this cannot be drawn: U+000A"),
        (
            {"output_video_pixel_format": "x"},
            OptionError,
            "output_video_pixel_format",
            "--output-video-pixel-format x is no pixel format of FFmpeg",
        ),
        (
            {"output_video_pixel_format": "gbrp16le"},
            OptionError,
            "output_video_pixel_format",
            "libx264 does not take --output-video-pixel-format gbrp16le",
        ),
        (
            {"output_video_pixel_format": "x", "output_video_encoder": "h264_nvenc"},
            OptionError,
            "output_video_pixel_format",
            "--output-video-pixel-format x is no pixel format of FFmpeg",
        ),
        (
            {"output_video_resolution": "99999x99999"},
            OutputError,
            "output_video_resolution",
            "out.mp4 cannot be 99999 x 99999 pixels: libx264 takes 16384 x 16384 at the most",
        ),
        (
            {"output_video_resolution": "16384x16384", "output_video_encoder": "libx265"},
            OutputError,
            "output_video_resolution",
            "out.mp4 cannot be 16384 x 16384 pixels: FFmpeg takes no video of so many pixels",
        ),
        (
            {"output_video_scale": 2.0, "output_video_resolution": "64x64"},
            UsageError,
            "output_video_resolution",
            "both say how large",
        ),
        ({"trim_frame_start": 9, "trim_frame_end": 9}, UsageError, "trim_frame_end", "holds no frame"),
        ({"trim_frame_start": 200}, MediaError, "trim_frame_start", "target.mp4 has no frame from 200 on"),
        ({"face_mask_padding": (60, 0, 40, 0)}, UsageError, "face_mask_padding", "leave nothing of a face to change"),
        (
            {"face_selector_age_start": 30, "face_selector_age_end": 30},
            UsageError,
            "face_selector_age_start",
            "no age lies between them",
        ),
    ],
)
def test_what_no_machine_could_do_is_refused(
    values: dict[str, object], kind: type[FaceFusionError], option: str, text: str
) -> None:
    for name, check in conditions(snapshot(**values), CLIP):
        if name == option:
            with pytest.raises(kind) as refused:
                check()
            assert text in refused.value.fault
            return
        check()
    pytest.fail("nothing was refused")


def test_a_part_that_only_the_header_denies_is_let_through() -> None:
    check_step(snapshot(trim_frame_start=150), CLIP)
    check_step(snapshot(trim_frame_start=10**9), replace(CLIP, frame_count=None))


def test_a_picture_too_large_for_its_format_is_refused() -> None:
    asked = snapshot(output_image_resolution="20000x10", target_path=PHOTO.path)
    with pytest.raises(OutputError, match="WEBP holds 16383 pixels per side, and the result has 20000 x 10"):
        check_output(asked, PHOTO, Path("out.webp"))
    check_output(asked, PHOTO, Path("out.png"))
    with pytest.raises(OutputError, match="WEBP holds 16383 pixels per side"):
        check_output(snapshot(), replace(PHOTO, size=Size(20000, 10)), Path("out.webp"))


@pytest.mark.parametrize("encoder", sorted(MOST_SIDES))
def test_an_encoder_does_open_at_what_it_is_said_to_take_and_not_above(encoder: str) -> None:
    width, height = MOST_SIDES[encoder]
    for size, opens in ((Size(width, 64), True), (Size(64, height), True), (Size(width + 2, 64), False)):
        context = av.CodecContext.create(encoder, "w")
        assert isinstance(context, av.VideoCodecContext)
        context.width, context.height = size
        context.pix_fmt, context.framerate, context.time_base = "yuv420p", Fraction(25), Fraction(1, 25)
        if encoder == "libx264rgb":
            context.pix_fmt = "bgr24"
        if opens:
            check_size(size, encoder, Path("out.mkv"))
            context.open()
        else:
            with pytest.raises(OutputError, match="at the most"):
                check_size(size, encoder, Path("out.mkv"))
            with pytest.raises(av.FFmpegError):
                context.open()
