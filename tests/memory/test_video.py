from __future__ import annotations

import pytest

from facefusion.memory.video import MEBIBYTE, run_video_bytes, session_video_bytes


@pytest.mark.parametrize(
    ("file", "workspace", "runs", "half", "needed"),
    [
        (0, 0, 1, False, 32 + 64),
        (400, 0, 1, False, 32 + 500 + 64),
        (400, 100, 1, False, 32 + 500 + 100),
        (400, 100, 4, False, 32 + 500 + 400),
        (400, 100, 4, True, 32 + 250 + 200),
    ],
)
def test_what_a_session_takes(file, workspace, runs, half, needed):
    estimate = session_video_bytes(file * MEBIBYTE, workspace=workspace * MEBIBYTE, runs=runs, half=half)
    assert estimate == needed * MEBIBYTE


def test_estimates_are_rounded_up_to_whole_mebibytes():
    assert session_video_bytes(1, workspace=0, runs=1, half=False) == (32 + 64 + 1) * MEBIBYTE


def test_a_run_takes_what_the_catalogue_tells_but_not_less_than_convolutions_do():
    assert run_video_bytes(0) == 64 * MEBIBYTE
    assert run_video_bytes(730 * MEBIBYTE) == 730 * MEBIBYTE
