from __future__ import annotations

import os
from pathlib import Path

import pytest

from facefusion.config.request import check_output_kind, checked_output
from facefusion.config.settings import PathsSettings
from facefusion.core.errors import FaceFusionError, UsageError
from facefusion.core.formats import MediaKind


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("source.jpg", "target.mp4", "target.png", "notes.bin"):
        Path(name).write_bytes(b"x")
    Path("out").mkdir()
    return tmp_path


def paths(target="target.mp4", output="out/result.mp4", sources=("source.jpg",)):
    return PathsSettings(
        source_paths=tuple(Path(source) for source in sources),
        target_path=Path(target) if target else None,
        output_path=Path(output) if output else None,
    )


@pytest.mark.parametrize(
    ("given", "output"),
    [
        (paths(), "out/result.mp4"),
        (paths(output="result.MKV"), "result.MKV"),
        (paths(output="out"), "out/target.mp4"),
        (paths("target.png", "out/a.webp"), "out/a.webp"),
        (paths("notes.bin", "out/a.webp"), "out/a.webp"),
    ],
)
def test_the_file_to_write(folder, given, output):
    assert checked_output(given) == Path(output)


@pytest.mark.parametrize(
    ("given", "message", "code"),
    [
        (
            paths(target=None),
            "no target is given. Name the image or video to change with --target-path.",
            2,
        ),
        (paths(output=None), "no output is given. Name the file to write with --output-path.", 2),
        (
            paths(target="none.mp4"),
            "target none.mp4: there is no such file. Check the path given with --target-path.",
            1,
        ),
        (paths(target="out"), "target out is a folder. Name one file with --target-path.", 1),
        (
            paths(sources=("source.jpg", "none.jpg")),
            "source none.jpg: there is no such file. Check the path given with --source-paths.",
            1,
        ),
        (
            paths(output="missing/a.mp4"),
            "output missing/a.mp4: the folder missing does not exist. "
            "Create it first, or choose another --output-path.",
            1,
        ),
        (
            paths(output="source.jpg/a.mp4"),
            "output source.jpg/a.mp4: the folder source.jpg is no folder. "
            "Create it first, or choose another --output-path.",
            1,
        ),
        (
            paths("target.png", "a.txt"),
            "output a.txt: the extension .txt does not name a format for the image. "
            "Use one of .apng, .avif, .bmp, .gif, .heic, .heif, .jpeg, .jpg, .png, .tif, .tiff, .webp.",
            2,
        ),
        (
            paths(target="x" * 300),
            f"target {'x' * 200}... (300 characters): File name too long. Check the path given with --target-path.",
            1,
        ),
        (
            paths(output=f"{'x' * 300}.mp4"),
            f"output {'x' * 200}... (304 characters): File name too long. Check the path given with --output-path.",
            1,
        ),
        (
            paths("target.png", "result"),
            "output result: a name without extension does not name a format for the image. "
            "Use one of .apng, .avif, .bmp, .gif, .heic, .heif, .jpeg, .jpg, .png, .tif, .tiff, .webp.",
            2,
        ),
        (
            paths(output="target.mp4"),
            "output target.mp4 is the target itself. It would be overwritten; choose another --output-path.",
            2,
        ),
        (
            paths(output="."),
            "output target.mp4 is the target itself. It would be overwritten; choose another --output-path.",
            2,
        ),
        (
            paths("target.png", "source.jpg"),
            "output source.jpg is the source itself. It would be overwritten; choose another --output-path.",
            2,
        ),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_begins(folder, given, message, code):
    with pytest.raises(FaceFusionError) as caught:
        checked_output(given)
    assert str(caught.value) == message
    assert caught.value.exit_code == code


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_are_neither_read_nor_replaced(folder):
    os.mkfifo("pipe.mp4")
    for given, message in (
        (paths(target="pipe.mp4"), "target pipe.mp4 is a pipe or a device. Name a file on a disk with --target-path."),
        (
            paths(sources=("pipe.mp4",)),
            "source pipe.mp4 is a pipe or a device. Name a file on a disk with --source-paths.",
        ),
        (paths(output="pipe.mp4"), "output pipe.mp4 is there and is no file. Choose another --output-path."),
    ):
        with pytest.raises(FaceFusionError) as caught:
            checked_output(given)
        assert str(caught.value) == message


def test_the_output_is_to_name_a_format_for_what_the_target_holds(folder):
    check_output_kind(Path("video.png"), Path("a.MP4"), MediaKind.VIDEO)
    check_output_kind(Path("image.mp4"), Path("a.webp"), MediaKind.IMAGE)
    with pytest.raises(UsageError) as caught:
        check_output_kind(Path("video.png"), Path("a.jpg"), MediaKind.VIDEO)
    assert str(caught.value) == (
        "output a.jpg: the extension .jpg does not name a format for the video video.png. "
        "Use one of .avi, .m4v, .mkv, .mov, .mp4, .mpeg, .mpg, .mxf, .webm, .wmv, .apng, .gif, .png, .webp."
    )


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_another_name_of_the_target_is_the_target(folder):
    Path("alias.mp4").symlink_to("target.mp4")
    with pytest.raises(FaceFusionError, match=r"output alias\.mp4 is the target itself"):
        checked_output(paths(output="alias.mp4"))
