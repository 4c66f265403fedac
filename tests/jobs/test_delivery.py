from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from facefusion.core.errors import UsageError
from facefusion.core.stop import StopToken
from facefusion.jobs.delivery import deliver
from facefusion.jobs.kept_files import remove_kept
from facefusion.jobs.model import JobStep, StepStatus
from facefusion.media.join import join_videos
from facefusion.provenance.records import sidecar_of

MANIFEST = b"\0\0\0\x40jumb"
RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def picture(name, *colours):
    first, *rest = (Image.new("RGB", (16, 8), colour) for colour in colours)
    if rest:
        first.save(name, save_all=True, append_images=rest, duration=120)
    else:
        first.save(name)
    return Path(name)


def colours_of(path):
    with Image.open(path) as image:
        found = []
        for index in range(getattr(image, "n_frames", 1)):
            image.seek(index)
            found.append(image.convert("RGB").getpixel((3, 3)))
    return found


def delivered(output, *results):
    return deliver(results, Path(output), join_videos, StopToken(), apart=False)


@pytest.mark.parametrize("extension", ["gif", "png", "apng"])
def test_animations_follow_one_another(extension):
    parts = picture(f"a.{extension}", RED, GREEN), picture(f"b.{extension}", BLUE, RED)
    delivered(f"out.{extension}", *parts)
    assert colours_of(f"out.{extension}") == [RED, GREEN, BLUE, RED]
    assert [colours_of(part) for part in parts] == [[RED, GREEN], [BLUE, RED]]


@pytest.mark.parametrize("extension", ["gif", "png"])
def test_of_pictures_the_last_one_is_taken(extension):
    parts = picture(f"a.{extension}", RED), picture(f"b.{extension}", BLUE)
    assert delivered(f"out.{extension}", *parts) == ()
    assert Path(f"out.{extension}").read_bytes() == parts[1].read_bytes()


def test_where_not_all_move_the_last_one_is_taken_which_is_said():
    parts = picture("a.gif", RED, GREEN), picture("b.gif", BLUE)
    assert delivered("out.gif", *parts) == ("Not all parts of out.gif move, so the last one is taken.",)
    assert colours_of("out.gif") == [BLUE]


def test_one_animation_is_taken_as_it_is():
    part = picture("a.gif", RED, GREEN)
    assert delivered("out.gif", part) == ()
    assert Path("out.gif").read_bytes() == part.read_bytes()


def test_the_manifest_beside_a_result_is_delivered_with_it():
    part, output = Path("part.mkv"), Path("out.mkv")
    part.write_bytes(b"result")
    sidecar_of(part).write_bytes(MANIFEST)
    delivered(output, part)
    assert sidecar_of(output).read_bytes() == MANIFEST
    remove_kept([JobStep(StepStatus.COMPLETED, {}, kept=str(part))])
    assert sorted(path.name for path in Path().iterdir()) == ["out.mkv", "out.mkv.c2pa"]

    sidecar_of(output).write_bytes(MANIFEST + b"older")
    part.write_bytes(b"without one")
    delivered(output, part)
    assert sorted(path.name for path in Path().iterdir()) == ["out.mkv", "part.mkv"]

    sidecar_of(output).write_text("notes of the user")
    with pytest.raises(
        UsageError, match=r"out\.mkv\.c2pa is there already .* Move it away\. Then go on with job-retry"
    ):
        delivered(output, part)
    assert sidecar_of(output).read_text() == "notes of the user"
