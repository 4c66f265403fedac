from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from facefusion.core.errors import OutputError, Stopped
from facefusion.core.stop import StopToken
from facefusion.core.values import Size
from facefusion.media.verify import Expected, verify_video

CLIP = Path(__file__).parents[2] / "assets" / "benchmark" / "target-240p.mp4"
RIGHT = Expected(frames=90, span=Fraction(89, 30), tolerance=Fraction(1, 100), size=Size(426, 240), tracks=1)


def test_a_file_that_is_what_it_has_to_be_passes():
    verify_video(CLIP, CLIP, RIGHT, StopToken())


def test_a_frame_too_few_is_said():
    with pytest.raises(OutputError, match=r"result\.mp4 was written with 90 of 91 frames"):
        verify_video(CLIP, Path("result.mp4"), replace(RIGHT, frames=91), StopToken())


def test_a_stop_is_heard_while_a_file_is_read_back():
    stop = StopToken()
    stop.request("Ctrl-C")
    with pytest.raises(Stopped, match="Ctrl-C"):
        verify_video(CLIP, CLIP, RIGHT, stop)
