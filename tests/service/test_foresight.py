"""What would fail on any worker is refused when the job is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.api import SOUND, Api

pytestmark = pytest.mark.service


@pytest.fixture
def api(tmp_path):
    return Api(tmp_path)


def faults(api: Api, **body: Any) -> dict[str, str]:
    before = api.queue.list(None, limit=9, before=None)
    answer = api.submit(**body)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert api.queue.list(None, limit=9, before=None) == before
    assert "nowhere" not in answer.text
    return {one["field"]: one["detail"] for one in answer.json()["errors"]}


def test_a_processor_that_needs_a_source_gets_one_or_is_refused(api):
    text = "face_swapper needs a source face. Name one image or more with --source-paths."
    assert faults(api, sources=[]) == {"sources": text}
    assert faults(api, sources=[api.upload(SOUND)]) == {"sources": text}
    assert api.submit(sources=[], step={"processors": ["face_debugger"]}).status_code == 201


@pytest.mark.parametrize(
    ("step", "field", "text"),
    [
        (
            {"output_video_pixel_format": "x"},
            "step.output_video_pixel_format",
            "--output-video-pixel-format x is no pixel format of FFmpeg.",
        ),
        (
            {"output_video_resolution": "99999x99999"},
            "step.output_video_resolution",
            "the result cannot be 99999 x 99999 pixels: libx264 takes 16384 x 16384 at the most.",
        ),
        (
            {"output_video_resolution": "64x64", "output_video_scale": 2.0},
            "step.output_video_resolution",
            "--output-video-scale 2 and --output-video-resolution 64x64 both say how large the result is to be.",
        ),
        ({"trim_frame_start": 136}, "step.trim_frame_start", "the target has no frame from 136 on."),
        (
            {"trim_frame_start": 9, "trim_frame_end": 9},
            "step.trim_frame_end",
            "the part from frame 9 to before 9 holds no frame.",
        ),
        (
            {"workflow_mode": "image-to-image"},
            "step.workflow_mode",
            "the target is a video, and --workflow-mode image-to-image takes images only.",
        ),
        ({"face_selector_age_start": 9, "face_selector_age_end": 9}, "step.face_selector_age_start", "no age lies"),
        ({"face_mask_padding": [60, 0, 40, 0]}, "step.face_mask_padding", "leave nothing of a face to change"),
    ],
)
def test_settings_that_no_worker_could_heed_are_refused_with_the_command_lines_words(api, step, field, text):
    found = faults(api, step=step)
    assert list(found) == [field]
    assert text in found[field]


def test_all_that_is_wrong_is_named_at_once(api):
    found = faults(api, sources=[], step={"output_video_pixel_format": "x", "trim_frame_start": 1000})
    assert sorted(found) == ["sources", "step.output_video_pixel_format", "step.trim_frame_start"]


def test_a_result_has_to_be_able_to_hold_what_its_target_is(api):
    moving, still = api.upload(b"animated"), api.upload(b"still")
    assert api.submit(target=moving, extension=".mp4").status_code == 201
    assert api.submit(target=moving).json()["extension"] == ".gif"
    refused = faults(api, target=still, extension=".mp4")["extension"]
    assert refused.startswith(
        "output the result: the extension .mp4 does not name a format for the image the target. Use one of .apng, .avif"
    )
    assert ".jpg does not name a format for the video" in faults(api, extension=".jpg")["extension"]
    assert ".nonse does not name a format for the image" in faults(api, target=still, extension=".nonse")["extension"]


def test_what_takes_a_card_is_left_to_the_machine_that_has_one(api):
    assert api.submit(step={"output_video_encoder": "hevc_nvenc"}).status_code == 201
