"""How a result comes to its name."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from facefusion.core.errors import OutputError, SigningError
from facefusion.core.stop import StopToken
from facefusion.core.storage import flush
from facefusion.media.animate import Drawing, animate
from facefusion.media.assemble import Cut, assemble
from facefusion.media.encoder import EncoderSettings
from facefusion.media.encoding import Encoding
from facefusion.media.finishing import AsWritten, Completed, finish_into_place, unsigned_path
from facefusion.media.image import write_image
from facefusion.media.join import join_videos
from facefusion.media.output import part_path
from facefusion.media.probe import probe
from facefusion.media.reader import VideoReader
from facefusion.media.tags import told_tags
from facefusion.vision.picture import BgrPicture
from tests.media.clips import make_clip
from tests.media.writing import write_segments

STOP = StopToken()


class Seal(AsWritten):
    """Notes the file that it is given and writes one beside it, or fails."""

    def __init__(self, failure: Exception | None = None, *, beside: bool = False) -> None:
        self.failure = failure
        self.beside = beside
        self.seen: list[tuple[str, bytes]] = []

    def tags(self):
        return {"SAID_OF_IT": "so"}

    def packet(self, xmp):
        return b"<x:xmpmeta xmlns:x='adobe:ns:meta/'><!-- told --></x:xmpmeta>"

    def complete(self, part, path, stop):
        self.seen.append((path.name, part.read_bytes()))
        if self.failure is not None:
            raise self.failure
        side = path.with_name(path.name + ".c2pa")
        if not self.beside:
            return Completed({side: None}, ("It is said so.",))
        file = part.with_suffix(".side")
        file.write_bytes(b"manifest")
        return Completed({side: file})


def nothing_wrong() -> None:
    """A check that passes."""


def finished(folder: Path, seal: AsWritten, content: bytes = b"result", check=nothing_wrong) -> tuple[str, ...]:
    path = folder / "a.mkv"
    part = part_path(path)
    part.write_bytes(content)
    try:
        return finish_into_place(part, path, seal, check, STOP)
    finally:
        part.unlink(missing_ok=True)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_result_is_completed_and_what_belongs_beside_it_follows(tmp_path):
    seal = Seal(beside=True)
    assert finished(tmp_path, seal) == ()
    assert seal.seen == [("a.mkv", b"result")]
    assert names(tmp_path) == ["a.mkv", "a.mkv.c2pa"]
    assert (tmp_path / "a.mkv.c2pa").read_bytes() == b"manifest"


def test_what_lay_beside_an_older_result_goes_with_it(tmp_path):
    finished(tmp_path, Seal(beside=True))
    assert finished(tmp_path, Seal(), b"new") == ("It is said so.",)
    assert names(tmp_path) == ["a.mkv"]
    assert (tmp_path / "a.mkv").read_bytes() == b"new"


def test_what_lies_beside_an_older_result_stays_until_the_new_one_is_on_the_disk(tmp_path, monkeypatch):
    finished(tmp_path, Seal(beside=True))
    seen = []

    def noted(path):
        seen.append((path.suffix, (tmp_path / "a.mkv.c2pa").exists()))
        flush(path)

    monkeypatch.setattr("facefusion.media.output.flush", noted)
    finished(tmp_path, Seal(beside=True), b"new")
    assert seen[0] == (".part", True)


def test_what_cannot_be_signed_is_kept_and_goes_once_it_can(tmp_path):
    (tmp_path / "a.mkv").write_bytes(b"old")
    (tmp_path / "a.mkv.c2pa").write_bytes(b"of the old one")
    kept = tmp_path / "a.mkv.unsigned.part"
    checked = []
    failure = SigningError("the card is gone", "Put it in.")
    with pytest.raises(SigningError) as raised:
        finished(tmp_path, Seal(failure), b"hours of work", lambda: checked.append(names(tmp_path)))
    assert str(raised.value) == (
        f"the card is gone. The result is whole, and is kept unsigned as {kept}. Put it in. "
        "Then run the same again, which works on no frame of a video once more."
    )
    assert raised.value.exit_code == 7
    assert len(checked) == 1
    assert names(tmp_path) == ["a.mkv", "a.mkv.c2pa", kept.name]
    assert kept.read_bytes() == b"hours of work"
    assert (tmp_path / "a.mkv").read_bytes() == b"old"

    part_path(tmp_path / "b.mkv")
    assert kept.exists(), "it was swept as something left behind"
    finished(tmp_path, Seal(), b"hours of work")
    assert names(tmp_path) == ["a.mkv"]


def test_what_is_not_whole_is_neither_moved_nor_kept(tmp_path):
    def broken() -> None:
        raise OutputError("a.mkv reads back differently")

    (tmp_path / "a.mkv").write_bytes(b"old")
    for seal in (Seal(beside=True), Seal(SigningError("no"))):
        with pytest.raises(OutputError, match="reads back differently"):
            finished(tmp_path, seal, check=broken)
        assert names(tmp_path) == ["a.mkv"]
        assert (tmp_path / "a.mkv").read_bytes() == b"old"


def test_the_name_of_what_is_kept_is_never_too_long(tmp_path):
    path = tmp_path / ("ü" * 125 + ".mp4")
    assert len(os.fsencode(unsigned_path(path).name)) <= 255
    unsigned_path(path).write_bytes(b"")


def test_tags_that_are_told_stand_before_those_of_the_source():
    assert told_tags({"said_of_it": "otherwise", "title": "a"}, {"SAID_OF_IT": "so"}) == {
        "SAID_OF_IT": "so",
        "title": "a",
    }


@pytest.fixture
def clip(tmp_path):
    make_clip(tmp_path / "clip.mkv", stamps=range(0, 4 * 512, 512))
    return tmp_path / "clip.mkv"


def made(target: Path, source: Path, seal: Seal) -> tuple[str, ...]:
    info = probe(source)
    encoding = Encoding.plan(info, info.size, EncoderSettings(threads=1), target)
    folder = target.parent / "segments"
    folder.mkdir(exist_ok=True)
    with VideoReader(info, threads=1) as reader:
        segments = list(write_segments(reader, encoding, folder, 2))
    if target.suffix in (".gif", ".png"):
        return animate(target, segments, encoding, info, Drawing(90), STOP, seal)
    return assemble(target, segments, encoding, info, Cut(), STOP, finishing=seal)


@pytest.mark.parametrize("suffix", [".mkv", ".webm", ".wmv"])
def test_containers_that_hold_any_tag_hold_what_is_told(tmp_path, clip, suffix):
    target, again = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    assert "It is said so." in made(target, clip, Seal())
    join_videos([target, target], again, STOP, Seal())
    for path in (target, again):
        with av.open(str(path)) as container:
            assert {key.upper(): value for key, value in container.metadata.items()}["SAID_OF_IT"] == "so"


def test_no_track_and_no_chapter_contradicts_what_is_told_of_the_whole(tmp_path, clip):
    told = tmp_path / "told.mkv"
    with av.open(str(clip)) as source, av.open(str(told), "w") as output:
        (old,) = source.streams.video
        new = output.add_stream_from_template(old)
        said = {"Said_Of_It": "otherwise", "title": "kept"}
        new.metadata.update(said)
        output.set_chapters([{"id": 1, "start": 0, "end": 1, "time_base": Fraction(1, 25), "metadata": said}])
        for packet in source.demux(old):
            if packet.dts is not None:
                packet.stream = new
                output.mux(packet)
    target, again = tmp_path / "a.mkv", tmp_path / "b.mkv"
    assert made(target, told, Seal()) == ("It is said so.",)
    join_videos([target, target], again, STOP, Seal())
    for path in (target, again):
        with av.open(str(path)) as container:
            tags = container.streams.video[0].metadata, *(chapter["metadata"] for chapter in container.chapters())
        assert len(tags) > 1
        for one in tags:
            named = {key.upper(): value for key, value in one.items()}
            assert "SAID_OF_IT" not in named
            assert named["TITLE"] == "kept"


@pytest.mark.parametrize("suffix", [".mp4", ".mov", ".avi", ".gif", ".png"])
def test_a_video_is_completed_once_it_is_closed(tmp_path, clip, suffix):
    target, again = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    first, second = Seal(beside=True), Seal(beside=True)
    made(target, clip, first)
    join_videos([target, target], again, STOP, second)
    for path, seal in ((target, first), (again, second)):
        assert seal.seen == [(path.name, path.read_bytes())]
        assert path.with_name(path.name + ".c2pa").read_bytes() == b"manifest"


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".tif", ".avif", ".heic", ".bmp", ".gif"])
def test_an_image_holds_what_is_told_where_it_can(tmp_path, suffix):
    path, seal = tmp_path / f"a{suffix}", Seal()
    notices = write_image(BgrPicture(np.full((16, 16, 3), 90, np.uint8)), path, quality=90, finishing=seal)
    assert notices == ("It is said so.",)
    assert seal.seen == [(path.name, path.read_bytes())]
    assert (b"<!-- told -->" in path.read_bytes()) == (suffix not in (".bmp", ".gif"))


def test_a_video_that_cannot_be_signed_is_kept_whole(tmp_path, clip):
    target = tmp_path / "a.mp4"
    with pytest.raises(SigningError, match=r"^no key\. The result is whole, and is kept .*\.unsigned\.part\. Give one"):
        made(target, clip, Seal(SigningError("no key", "Give one.")))
    assert not target.exists()
    assert probe(unsigned_path(target).rename(tmp_path / "kept.mp4")).frame_count == 4
