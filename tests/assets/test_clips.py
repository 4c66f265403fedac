"""The media in the repository is what its names and the script declare."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from scripts.assets.clip import ClipFormat, ClipWriter
from scripts.assets.production import BENCHMARK, BENCHMARK_SECONDS, DEMO, DEMO_SECONDS

ASSETS = Path(__file__).resolve().parents[2] / "assets"
DEMO_CLIP = ASSETS / "demo" / "target.mp4"
CLIPS = [
    (DEMO_CLIP, DEMO, DEMO_SECONDS),
    *((ASSETS / "benchmark" / f"target-{shape.height}p.mp4", shape, BENCHMARK_SECONDS) for shape in BENCHMARK),
]
BT709, LIMITED = 1, 1


def test_the_benchmark_has_every_size() -> None:
    names = sorted(path.name for path in (ASSETS / "benchmark").glob("*.mp4"))
    assert names == sorted(f"target-{height}p.mp4" for height in (240, 360, 540, 720, 1080, 1440, 2160))


@pytest.mark.parametrize(("path", "shape", "seconds"), CLIPS, ids=[path.stem for path, _, _ in CLIPS])
def test_a_clip_is_as_declared(path: Path, shape: ClipFormat, seconds: int) -> None:
    with av.open(str(path)) as container:
        video, audio = container.streams.video[0], container.streams.audio[0]
        context = video.codec_context
        assert (context.name, audio.codec_context.name) == ("h264", "aac")
        assert (context.width, context.height) == (shape.width, shape.height)
        assert context.pix_fmt == "yuv420p"
        colours = (context.colorspace, context.color_primaries, context.color_trc, context.color_range)
        assert colours == (BT709, BT709, BT709, LIMITED)
        assert video.average_rate == shape.rate
        assert (audio.codec_context.sample_rate, audio.codec_context.channels) == (48_000, 2)
        assert "creation_time" not in {**container.metadata, **video.metadata, **audio.metadata}
        times = sorted(packet.pts for packet in container.demux(video) if packet.pts is not None)
        assert video.time_base is not None
        assert audio.time_base is not None
        assert audio.duration is not None
        assert [time * video.time_base for time in times] == [
            Fraction(index, shape.rate) for index in range(seconds * shape.rate)
        ]
        assert abs(audio.duration * audio.time_base - seconds) <= Fraction(1, shape.rate)


def test_sizes_stay_small() -> None:
    sizes = {path.name: path.stat().st_size for path in (ASSETS / "benchmark").iterdir()}
    assert max(sizes.values()) <= 5_000_000
    assert sum(sizes.values()) <= 12_000_000
    assert DEMO_CLIP.stat().st_size <= 1_500_000


def test_the_demo_decodes_to_pictures_that_move_and_a_voice_that_sounds() -> None:
    with av.open(str(DEMO_CLIP)) as container:
        pictures = [frame.to_ndarray(format="gray8") for frame in container.decode(video=0)][::40]
    with av.open(str(DEMO_CLIP)) as container:
        sound = np.concatenate([frame.to_ndarray() for frame in container.decode(audio=0)], axis=1)
    assert all(30.0 < picture.mean() < 220.0 and picture.std() > 30.0 for picture in pictures)
    differences = [np.abs(before.astype(np.int16) - after).mean() for before, after in pairwise(pictures)]
    assert min(differences) > 3.0
    assert 0.2 < float(np.abs(sound).max()) <= 1.0


@pytest.mark.parametrize("folder", ["demo", "benchmark"])
def test_the_source_is_a_portrait(folder: str) -> None:
    picture = cv2.imread(str(ASSETS / folder / "source.jpg"))
    assert picture is not None
    assert picture.shape == (600, 512, 3)
    assert (ASSETS / folder / "README.md").read_text(encoding="utf-8").count("public domain") >= 1


def test_a_writer_gives_back_the_colours_it_was_given(tmp_path: Path) -> None:
    shape = ClipFormat(height=72, rate=25, quality=1)
    picture = np.zeros((72, 128, 3), np.uint8)
    picture[:, :64] = (30, 60, 200)
    picture[:, 64:] = (180, 140, 40)
    with ClipWriter(tmp_path / "clip.mp4", shape) as writer:
        writer.add_sound(np.zeros((2, 4 * 480), np.float32))
        writer.add(picture)
    with av.open(str(tmp_path / "clip.mp4")) as container:
        (frame,) = container.decode(video=0)
    back = frame.to_ndarray(format="bgr24").astype(np.int16)
    np.testing.assert_allclose(back[36, 20], picture[36, 20], atol=4)
    np.testing.assert_allclose(back[36, 110], picture[36, 110], atol=4)


@pytest.mark.parametrize("frames", [0, 60])
def test_a_failed_clip_leaves_nothing_behind(tmp_path: Path, frames: int) -> None:
    def fail() -> None:
        with ClipWriter(tmp_path / "clip.mp4", ClipFormat(height=72, rate=25, quality=20)) as writer:
            for _ in range(frames):
                writer.add(np.zeros((72, 128, 3), np.uint8))
            raise RuntimeError("the renderer failed")

    with pytest.raises(RuntimeError, match="the renderer failed"):
        fail()
    assert list(tmp_path.iterdir()) == []
