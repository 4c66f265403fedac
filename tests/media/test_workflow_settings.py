"""What the workflow options ask for, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from facefusion.config.origin import COMMAND_LINE
from facefusion.config.schema import Schema
from facefusion.config.values import RawValue, parse
from facefusion.core.errors import UsageError
from facefusion.core.formats import MediaKind
from facefusion.media.frame_image import FRAME_FORMATS
from facefusion.media.settings import FRAME_FORMAT_NAMES, WorkflowSettings

PHOTO, CLIP, MOVING = Path("a.jpg"), Path("a.mp4"), Path("a.gif")


@pytest.mark.parametrize(
    ("mode", "target", "kind"),
    [
        ("auto", PHOTO, MediaKind.IMAGE),
        ("auto", CLIP, MediaKind.VIDEO),
        ("image-to-image", PHOTO, MediaKind.IMAGE),
        ("image-to-video", CLIP, MediaKind.VIDEO),
        ("image-to-image", MOVING, MediaKind.VIDEO),
        ("image-to-video", MOVING, MediaKind.VIDEO),
    ],
)
def test_a_mode_that_fits(mode, target, kind):
    WorkflowSettings(workflow_mode=mode).check_target(target, kind)


@pytest.mark.parametrize(
    ("mode", "target", "kind", "fault"),
    [
        ("image-to-image", CLIP, MediaKind.VIDEO, "a.mp4 is a video, and --workflow-mode image-to-image takes images"),
        (
            "image-to-video",
            PHOTO,
            MediaKind.IMAGE,
            "a.jpg is an image, and --workflow-mode image-to-video takes videos",
        ),
        (
            "image-to-video",
            MOVING,
            MediaKind.IMAGE,
            "a.gif is an image, and --workflow-mode image-to-video takes videos",
        ),
    ],
)
def test_a_mode_that_contradicts_the_target(mode, target, kind, fault):
    with pytest.raises(UsageError) as caught:
        WorkflowSettings(workflow_mode=mode).check_target(target, kind)
    assert str(caught.value) == f"{fault} only. Leave --workflow-mode out, or choose another target."


def test_frames_are_written_with_one_strategy_only():
    assert WorkflowSettings(temp_frame_format="bmp").frame_format is None
    assert WorkflowSettings(workflow_strategy="disk", temp_frame_format="bmp").frame_format == "bmp"


def test_every_name_is_a_format():
    assert sorted(FRAME_FORMATS) == sorted(FRAME_FORMAT_NAMES)


@pytest.mark.parametrize(("typed", "meant"), [("jpg", "jpeg"), ("JPEG", "jpeg"), ("tif", "tiff"), ("png", "png")])
def test_names_that_people_type(typed, meant):
    spec = Schema.of((WorkflowSettings,))["temp_frame_format"]
    assert parse(spec, RawValue((typed,), f"--temp-frame-format {typed}", COMMAND_LINE)) == meant


@pytest.mark.parametrize(
    ("strategy", "keep", "kind", "notices"),
    [
        ("disk", True, MediaKind.VIDEO, ()),
        ("memory", False, MediaKind.IMAGE, ()),
        ("disk", False, MediaKind.IMAGE, ()),
        ("disk", True, MediaKind.IMAGE, ("--keep-temp keeps nothing of an image: the result is its only frame.",)),
        (
            "memory",
            True,
            MediaKind.VIDEO,
            ("--keep-temp keeps nothing without --workflow-strategy disk, which writes frames to files.",),
        ),
    ],
)
def test_what_does_nothing_is_said(strategy, keep, kind, notices):
    settings = WorkflowSettings(workflow_strategy=strategy, keep_temp=keep)
    assert settings.notices(kind) == notices
