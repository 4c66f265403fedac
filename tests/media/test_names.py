"""Files whose names mean something to a shell, a printf or FFmpeg's parser of addresses are files all the same."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from facefusion.core.values import Size
from facefusion.media.image import read_image, write_image
from tests.media.clips import decode, make_clip
from tests.media.writing import transcode

NAMES = (
    "with space",
    "100% %d %s",
    "%03d",
    "br[ack]et{s}",
    "-dash",
    "имя файла",
    "名前",
    "cafe\u0301",
    "é" * 123,
    "a" * 246,
    "..dots",
    "#hash&amp;",
    "~",
    "@file",
    "a=b",
)
UNIX_NAMES = (
    "quo\"te's",
    "que?ry*",
    "new\nline",
    "tab\tulator",
    "concat:x",
    "http:x",
    "file:x",
    "pipe:1",
    "data:x",
    "a:b",
    "back\\slash",
    os.fsdecode(b"no text \xff\xfe"),
)
ALL = NAMES if sys.platform in ("win32", "darwin") else NAMES + UNIX_NAMES


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("clip") / "clip.mp4"
    make_clip(path)
    return path


@pytest.mark.parametrize("name", ALL)
def test_a_video_may_be_called_so(clip, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    target, output = Path(f"{name}.mp4"), Path("results") / f"{name}.mp4"
    output.parent.mkdir()
    shutil.copy(clip, target)
    transcode(target, output)
    assert len(decode(output.absolute())) == len(decode(clip))
    assert os.listdir("results") == [output.name]  # noqa: PTH208 - the name as the system has it
    assert target.read_bytes() == clip.read_bytes()


@pytest.mark.parametrize("name", ALL)
def test_an_image_may_be_called_so(clip, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    path = Path(f"{name}.png")
    decode(clip)[0].to_image().save(path, "PNG")
    picture = read_image(path)
    output = Path("results") / path
    output.parent.mkdir()
    write_image(picture, output, quality=90)
    assert read_image(output).size == picture.size == Size(96, 64)
    assert os.listdir("results") == [output.name]  # noqa: PTH208 - the name as the system has it
