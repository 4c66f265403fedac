import json
import subprocess
import sys

import av
import numpy as np
import pytest
from PIL import Image

from facefusion.service import look
from facefusion.service.errors import UnsupportedMediaError
from facefusion.service.look import Content, look_here


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "0123.part"
    Image.fromarray(np.zeros((8, 12, 3), np.uint8)).save(path, "PNG")
    return path


def test_an_image_is_told_by_its_content_in_another_process(photo):
    assert look.look(photo) == Content("image/png", ".png", 12, 8, 1)


def test_a_moving_image_is_told_apart(tmp_path):
    path = tmp_path / "a.part"
    frames = [Image.fromarray(np.full((8, 8, 3), shade, np.uint8)) for shade in (0, 200)]
    frames[0].save(path, "PNG", save_all=True, append_images=frames[1:], duration=100)
    assert look_here(path) == Content("image/apng", ".apng", 8, 8, 2, 0.2)


def test_the_size_and_the_length_of_a_video_are_told(tmp_path):
    path = tmp_path / "a.part"
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 32, "yuv420p"
        for shade in range(5):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((32, 64, 3), shade, np.uint8))))
        container.mux(stream.encode(None))
    assert look_here(path) == Content("video/mp4", ".mp4", 64, 32, 5, 0.5)


def test_sound_is_told(tmp_path):
    import wave

    path = tmp_path / "a.part"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(1600))
    assert look_here(path) == Content("audio/wav", ".wav")


def test_sound_alone_in_a_container_of_videos_is_sound(tmp_path):
    path = tmp_path / "a.part"
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=44100, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 44100
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    assert look_here(path) == Content("audio/mp4", ".m4a")


@pytest.mark.parametrize(
    "data",
    [
        b"text",
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
        b"\x89PNG\r\n\x1a\n" + b"\0" * 64,
        b"\0\0\0\x18ftypisom\0\0\0\0isommp42" + b"\0" * 64,
        b"RIFF\x24\0\0\0WAVEfmt " + b"\xff" * 40,
        b"\xff\xd8\xff\xe0" + b"\0" * 64,
        b"GIF89a" + b"\xff" * 64,
        b"\x1a\x45\xdf\xa3" + b"\xff" * 64,
    ],
)
def test_what_only_begins_like_media_is_refused_without_a_path(tmp_path, data):
    path = tmp_path / "0123.part"
    path.write_bytes(data)
    with pytest.raises(UnsupportedMediaError) as refused:
        look_here(path)
    assert refused.value.http_status == 415
    assert str(tmp_path) not in str(refused.value)
    assert "0123" not in str(refused.value)


def test_a_process_that_fails_refuses_the_file(photo, monkeypatch):
    monkeypatch.setattr(look, "PACKAGE_PARENT", photo.parent)  # so that it finds no program
    monkeypatch.chdir(photo.parent)
    with pytest.raises(UnsupportedMediaError, match="looking into it did not end well"):
        look.look(photo)


def test_a_process_that_goes_on_for_ever_is_ended(photo, monkeypatch):
    def run(*words, timeout, **about):
        raise subprocess.TimeoutExpired(words, timeout)

    monkeypatch.setattr("facefusion.service.look.subprocess.run", run)
    with pytest.raises(UnsupportedMediaError, match="looking into it did not end well"):
        look.look(photo)


@pytest.mark.parametrize(
    "answer",
    [
        1,
        [],
        {},
        {"media_type": "image/png", "extension": ".png", "more": 1},
        {"media_type": "image/png", "extension": "/../x"},
        {"media_type": "text/html", "extension": ".png"},
        {"media_type": "image/png", "extension": ".png", "width": "8"},
        {"media_type": "image/png", "extension": ".png", "width": 0},
        {"media_type": "image/png", "extension": ".png", "frames": 1 << 60},
        {"media_type": "video/mp4", "extension": ".mp4", "duration": float("nan")},
        {"media_type": "video/mp4", "extension": ".mp4", "duration": -1.0},
        {"media_type": "video/mp4", "extension": [".mp4"]},
    ],
)
def test_a_process_that_a_file_made_its_own_is_not_believed(photo, monkeypatch, answer):
    def run(words, **about):
        return subprocess.CompletedProcess(words, 0, json.dumps(answer).encode(), b"")

    monkeypatch.setattr("facefusion.service.look.subprocess.run", run)
    with pytest.raises(UnsupportedMediaError, match="looking into it did not end well"):
        look.look(photo)


def test_the_process_knows_no_secret(photo, monkeypatch):
    given = {}

    def run(words, *, env, **about):
        given.update(env)
        return subprocess.CompletedProcess(words, 0, json.dumps({"fault": "no"}).encode(), b"")

    monkeypatch.setenv("API_TOKEN", "t" * 20)
    monkeypatch.setenv("REDIS_URL", "redis://:pass@host/0")
    monkeypatch.setattr("facefusion.service.look.subprocess.run", run)
    with pytest.raises(UnsupportedMediaError, match="no"):
        look.look(photo)
    assert given.keys() <= {*look.PASSED, "PYTHONPATH"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
def test_the_process_is_limited(photo):
    code = (
        "import resource, sys; from facefusion.service.look import main; "
        "main(sys.argv[1:]); "
        "print(resource.getrlimit(resource.RLIMIT_CPU)[0], resource.getrlimit(resource.RLIMIT_AS)[0])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(photo)], text=True, capture_output=True, check=True)
    answer, limits = done.stdout.splitlines()
    assert json.loads(answer)["media_type"] == "image/png"
    seconds, most = map(int, limits.split())
    assert 0 < seconds <= look.SECONDS
    assert 0 < most <= look.MOST_MEMORY
