"""Images and videos that claim or unpack to more than there is: each is read or refused in words, and takes little."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
from PIL import Image

from facefusion.core.errors import MediaError
from facefusion.media.animation.facts import animation_facts
from facefusion.media.image import image_facts
from facefusion.media.image.opening import MOST_BYTES
from tests.hostile.media_files import pictures, saved, videos
from tests.hostile.trial import Outcome, tried

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and measures memory as Linux does")

FITTING = 48 << 20
"""Bytes: what the bombs unpack to is more."""

TOO_LARGE = "MediaError: {0} has 60000 x 60000 pixels, more than the 268435456 that are accepted. Scale it down first."
DAMAGED = "MediaError: {0} is damaged ("
UNREAD = "that is damaged, or of a kind that is not read. Get the file again, or save it as PNG."
READ = "read"
NO_PICTURE = "MediaError: {0} holds no picture that can be decoded. Check that it opens in a player."
NO_VIDEO = "MediaError: {0} is no image or video that can be read"

EXPECTED = {
    "side.png": TOO_LARGE, "side.gif": TOO_LARGE, "frame.gif": TOO_LARGE, "side.tiff": TOO_LARGE, "side.jpg": TOO_LARGE,
    "side.bmp": TOO_LARGE, "side.ppm": TOO_LARGE, "side.jp2": TOO_LARGE, "side.heic": TOO_LARGE,
    "words.png": DAMAGED + "Decompressed data too large", "words_behind.png": DAMAGED + "Decompressed data too large",
    "comment.png": DAMAGED + "Decompressed data too large", "profile.png": DAMAGED + "Decompressed data too large",
    "comments.png": DAMAGED + "Too much memory used in text chunks",
    "length.png": "ResourceError: {0} asks for more memory than there is. If it is no large picture it is damaged: ",
    "digits.ppm": DAMAGED, "side.webp": DAMAGED,
    "negative.bmp": "MediaError: negative.bmp has 4294907296 x 2147483648 pixels, more than the 268435456",
    "circle.tiff": READ, "words.tiff": READ, "profile.tiff": READ,
    "pixels.png": READ, "delays.png": READ, "circle.jpg": READ, "claims.jpg": READ, "profile.jpg": READ,
    "laughs.jpg": READ, "outside.jpg": READ,
}  # fmt: skip
"""How what is said of each begins; the others say what :data:`UNREAD` says."""


@pytest.fixture(scope="module")
def of_pictures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    folder = tmp_path_factory.mktemp("pictures")
    for name, data in pictures():
        (folder / name).write_bytes(data)
    return tried("media", sorted(folder.iterdir()))


def test_a_picture_is_read_or_refused_in_words(of_pictures: dict[str, Outcome]) -> None:
    for name, outcome in of_pictures.items():
        said = EXPECTED.get(name, "")
        assert outcome.said.startswith(said.format(name)) if said else outcome.said.endswith(UNREAD), (name, outcome)
    assert EXPECTED.keys() <= of_pictures.keys()


def test_no_picture_takes_what_it_claims(of_pictures: dict[str, Outcome]) -> None:
    assert [(name, each) for name, each in of_pictures.items() if each.grown > FITTING] == []


@pytest.fixture(scope="module")
def of_videos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    folder = tmp_path_factory.mktemp("videos")
    for name, data in list(videos(folder)):
        (folder / name).write_bytes(data)
    return tried("media", sorted(folder.iterdir()))


def test_a_video_is_read_or_refused_in_words(of_videos: dict[str, Outcome]) -> None:
    for name, outcome in of_videos.items():
        assert outcome.said == READ or outcome.said.startswith((NO_PICTURE.format(name), NO_VIDEO.format(name))), name
    assert of_videos["whole.mp4"].said == of_videos["whole.mkv"].said == READ
    assert of_videos["60000.y4m"].said.startswith(NO_VIDEO.format("60000.y4m"))


def test_no_video_takes_what_it_claims(of_videos: dict[str, Outcome]) -> None:
    assert [(name, each) for name, each in of_videos.items() if each.grown > FITTING] == []


def test_marks_are_looked_for_in_all_of_them_without_an_error(tmp_path: Path) -> None:
    for name, data in (*pictures(), *videos(tmp_path)):
        (tmp_path / name).write_bytes(data)
    outcomes = tried("marks", sorted(tmp_path.iterdir()))
    assert {each.said for each in outcomes.values()} == {READ}
    assert [(name, each) for name, each in outcomes.items() if each.grown > FITTING] == []


def test_an_upload_is_taken_or_refused_without_telling_where_it_lies(tmp_path: Path) -> None:
    for number, (name, data) in enumerate((*pictures(), *videos(tmp_path))):
        (tmp_path / f"{number:032x}.{name}.part").write_bytes(data)
    outcomes = tried("upload", sorted(tmp_path.glob("*.part")))
    for name, outcome in outcomes.items():
        # What runs out of memory ends the process that looks; whoever waits for it says that it did not end well.
        assert outcome.said == READ or outcome.said.startswith(("UnsupportedMediaError: ", "ResourceError: ")), name
        if outcome.said.startswith("UnsupportedMediaError"):
            assert name not in outcome.said
        assert outcome.grown <= FITTING, name
    refused = [name for name, outcome in outcomes.items() if outcome.said != READ]
    assert len(outcomes) / 4 < len(refused) < len(outcomes)


@pytest.mark.parametrize("name", ["GIF", "PNG", "WEBP", "TIFF", "JPEG", "AVIF", "HEIF"])
def test_an_image_is_not_read_whole_that_no_memory_holds(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.part"
    path.write_bytes(saved(name))
    assert image_facts(path) is not None
    with path.open("rb+") as file:
        file.truncate(MOST_BYTES + 1)
    for read in (image_facts, animation_facts) if name in ("GIF", "PNG") else (image_facts,):
        with pytest.raises(MediaError) as refused:
            read(path)
        assert str(refused.value) == (
            f"{path} is an image of {MOST_BYTES + 1} bytes, more than the {MOST_BYTES} that are accepted. "
            "Compress it, or scale it down first."
        )


def test_a_page_of_a_tiff_that_does_not_say_how_large_it_is_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.tiff"
    page = Image.new("L", (4, 4))
    page.save(path, save_all=True, append_images=[page])
    data, width = path.read_bytes(), struct.pack("<HH", 256, 4)
    assert data.count(width) == 2
    place = data.rindex(width)
    path.write_bytes(data[:place] + struct.pack("<HH", 255, 4) + data[place + 4 :])
    with pytest.raises(MediaError) as refused:
        image_facts(path)
    assert (
        str(refused.value) == f"{path} is damaged (Missing dimensions). Get the file again or repair it in an editor."
    )
