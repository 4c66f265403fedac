from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from scripts.assets.motion import blink, moment, track
from scripts.assets.production import BENCHMARK_SECONDS, DEMO_SECONDS
from scripts.assets.voice import SAMPLE_RATE, Voice

KEYS = ((0.0, 1.0), (0.5, 3.0), (1.0, -1.0))


def test_a_track_passes_its_keys_level() -> None:
    assert [track(KEYS, place) for place in (0.0, 0.5, 1.0)] == [1.0, 3.0, -1.0]
    assert track(KEYS, 0.25) == pytest.approx(2.0)
    assert abs(track(KEYS, 0.501) - 3.0) < 1e-4


def test_a_blink_shuts_the_eye_and_opens_it_again() -> None:
    assert blink(0.0) == 1.0
    assert blink(-0.2) == blink(0.2) == 0.0
    closing = [blink(time) for time in np.linspace(-0.12, 0.0, 9)]
    assert closing == sorted(closing)
    assert blink(0.1) > blink(-0.1), "it opens more slowly than it shuts"


@pytest.mark.parametrize("seconds", [DEMO_SECONDS, BENCHMARK_SECONDS])
def test_every_clip_holds_all_the_motion_of_a_head(seconds: int) -> None:
    voice = Voice(float(seconds))
    scenes = [moment(time, float(seconds), voice) for time in np.arange(0.0, seconds, 1 / 30)]
    assert min(scene.pose.yaw for scene in scenes) < -22.0
    assert max(scene.pose.yaw for scene in scenes) > 22.0
    assert max(scene.pose.pitch for scene in scenes) - min(scene.pose.pitch for scene in scenes) > 10.0
    assert max(scene.pose.roll for scene in scenes) - min(scene.pose.roll for scene in scenes) > 8.0
    assert max(scene.blink for scene in scenes) > 0.9
    assert max(scene.jaw for scene in scenes) > 0.7
    assert max(scene.zoom for scene in scenes) > 1.1
    assert len({scene.light for scene in scenes}) > seconds
    steps = [abs(after.pose.yaw - before.pose.yaw) for before, after in pairwise(scenes)]
    assert max(steps) < 6.0


def test_the_mouth_opens_when_the_voice_sounds() -> None:
    voice = Voice(4.0)
    sound = np.abs(voice.samples()).mean(0)
    times = np.arange(0.1, 3.9, 0.02)
    jaw = np.array([voice.mouth(float(time))[0] for time in times])
    loudness = np.array(
        [sound[int((time - 0.01) * SAMPLE_RATE) : int((time + 0.01) * SAMPLE_RATE)].mean() for time in times]
    )
    assert loudness[jaw > 0.3].mean() > 8.0 * loudness[jaw == 0.0].mean()


def test_the_sound_is_stereo_soft_and_always_the_same() -> None:
    sound = Voice(2.0).samples()
    assert sound.shape == (2, 2 * SAMPLE_RATE)
    assert 0.2 < float(np.abs(sound).max()) < 0.5
    assert not np.array_equal(sound[0], sound[1])
    np.testing.assert_array_equal(sound, Voice(2.0).samples())
    np.testing.assert_array_equal(sound[:, 0], 0.0)
