"""Animated images through the pipeline: to animated images, to videos, and from videos."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

from facefusion.media.animation import animation_facts
from facefusion.pipeline.video_plan import Trim
from tests.media.clips import times_of
from tests.pipeline.stage import BrokenError, Stage

DELAYS = (20, 900, 100, 70, 250, 40, 30, 330, 60, 200)
"""Milliseconds."""


def make_animation(path: Path) -> None:
    frames = []
    for number in range(len(DELAYS) * 2):
        pixels = np.full((48, 64, 4), 255, np.uint8)
        pixels[..., :3] = (10 * number, 200 - 5 * number, 90)
        pixels[36:, 48:, 3] = 0
        frames.append(Image.fromarray(pixels))
    # Pillow passes over what a format does not know.
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=DELAYS * 2, loop=3, disposal=2, lossless=True
    )


def frames_of(path: Path) -> list[np.ndarray]:
    with Image.open(path) as image:
        return [np.array(frame.convert("RGBA")) for frame in ImageSequence.Iterator(image)]


@pytest.mark.parametrize("source", ["in.gif", "in.webp", "in.png"])
@pytest.mark.parametrize("output", ["out.gif", "out.webp", "out.png"])
def test_an_animation_keeps_delays_plays_and_what_lies_outside_the_mask(
    tmp_path: Path, source: str, output: str
) -> None:
    make_animation(tmp_path / source)
    stage = Stage(tmp_path, source, output)
    outcome, _ = stage.run()
    assert (outcome.frames, outcome.held_frames) == (20, [])
    facts, before = animation_facts(stage.output), animation_facts(stage.source)
    assert facts is not None
    assert before is not None
    assert facts.delays == before.delays == tuple(Fraction(delay, 1000) for delay in DELAYS * 2)
    assert facts.loops == before.loops == (4 if source == "in.gif" else 3)  # a GIF counts the plays after the first
    loss = 12 if output == "out.webp" else 0
    for have, want in zip(frames_of(stage.output), frames_of(stage.source), strict=True):
        assert (have[40:, 52:, 3] == 0).all()
        assert np.abs(have[20:32, 20:44].astype(int) - want[20:32, 20:44]).max() <= loss
        assert np.ptp(have[2:14, 2:14, :3], axis=(0, 1)).max() <= loss
        assert (have[8, 8, :3] != want[8, 8, :3]).any()


def test_an_animation_becomes_a_video_with_its_own_times(tmp_path: Path) -> None:
    make_animation(tmp_path / "in.gif")
    stage = Stage(tmp_path, "in.gif", "out.mp4")
    stage.run()
    times = [Fraction(sum((DELAYS * 2)[:number]), 1000) for number in range(20)]
    assert times_of(stage.output) == times


def test_a_part_of_an_animation_keeps_its_delays(tmp_path: Path) -> None:
    make_animation(tmp_path / "in.gif")
    stage = Stage(tmp_path, "in.gif", "out.gif")
    stage.run(trim=Trim(3, 8))
    facts = animation_facts(stage.output)
    assert facts is not None
    assert facts.delays == tuple(Fraction(delay, 1000) for delay in DELAYS[3:8])


def test_a_video_becomes_an_animation_that_plays_for_ever(tmp_path: Path) -> None:
    stage = Stage(tmp_path, output="out.gif", stamps=range(0, 20 * 512, 512))
    stage.run(rate=Fraction(10))
    facts = animation_facts(stage.output)
    assert facts is not None
    assert facts.delays == (Fraction(1, 10),) * 8
    assert facts.loops == 0


def test_an_animation_that_broke_goes_on(tmp_path: Path) -> None:
    make_animation(tmp_path / "in.gif")
    stage = Stage(tmp_path, "in.gif", "out.gif")
    stage.run()
    digest = stage.digest
    stage.output.unlink()
    with pytest.raises(BrokenError):
        stage.run({18: BrokenError()})
    stage.run()
    assert stage.digest == digest
