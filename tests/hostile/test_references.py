"""Texts that have FFmpeg open other files, or connections: none of that happens, whatever they are called."""

from __future__ import annotations

import ast
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from av.format import ContainerFormat
from PIL import Image

from facefusion.core.errors import MediaError
from facefusion.media.demuxers import DEMUXERS
from facefusion.media.probe import probe
from facefusion.media.sound_file import probe_sound
from tests.media.clips import make_clip

PACKAGE = Path(__file__).parents[2] / "facefusion"

OWN_FILES = {
    "media/assemble.py", "media/external.py", "media/pixel_shape.py", "media/segment.py", "media/sound_track.py",
    "media/tags.py", "media/verify.py", "media/nvdec.py",
}  # fmt: skip
"""Modules that read what this program has written itself a moment before, with whatever reader that needs."""

SECRET = "secret.mp4"
"""A video of somebody who would not have it shown."""


def playlist(address: str) -> str:
    return f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{address}\n#EXT-X-ENDLIST\n"


def manifest(address: str) -> str:
    return (
        '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" '
        'mediaPresentationDuration="PT9S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011">'
        '<Period><AdaptationSet mimeType="video/mp4">'
        f'<Representation id="1" bandwidth="1"><BaseURL>{address}</BaseURL><SegmentBase/></Representation>'
        "</AdaptationSet></Period></MPD>"
    )


TEXTS: dict[str, Callable[[str], str]] = {
    "playlist": playlist,
    "list": lambda address: f"ffconcat version 1.0\nfile {address}\n",
    "manifest": manifest,
    "index": lambda address: f"[Reference]\nRef1={address}\n",
    "program": lambda address: f'<ASX version="3.0"><Entry><Ref href="{address}"/></Entry></ASX>',
    "drawing": lambda address: (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9">'
        f'<image xlink:href="{address}" width="9" height="9"/></svg>'
    ),
    "session": lambda _: (
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n"
        "a=rtpmap:96 H264/90000\n"
    ),
}
"""What names an address in the text of one format each."""

NAMES = ("a.mp4", "a.m3u8", "a.mpd", "a.ts", "a.sdp", "a.mp3", "a.png")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server that nobody should call."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize("read", [probe, probe_sound])
@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_that_names_another_file_has_nothing_opened(
    tmp_path: Path, listener: socket.socket, kind: str, read: Callable[[Path], object]
) -> None:
    make_clip(tmp_path / SECRET, audio=("aac",))
    port = listener.getsockname()[1]
    addresses = (
        SECRET, str(tmp_path / SECRET), (tmp_path / SECRET).as_uri(), f"http://127.0.0.1:{port}/a.mp4",
        f"tcp://127.0.0.1:{port}", f"concat:{tmp_path / SECRET}", f"subfile,,start,0,end,0,,:{tmp_path / SECRET}",
    )  # fmt: skip
    for name in NAMES:
        for address in addresses:
            path = tmp_path / name
            path.write_text(TEXTS[kind](address))
            with pytest.raises(MediaError):
                read(path)


def test_a_list_says_that_the_file_itself_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_text("ffconcat version 1.0\nfile other.mp4\n")
    with pytest.raises(MediaError) as refused:
        probe(path)
    assert str(refused.value) == (
        f"{path} is no image or video that can be read: damaged, or of a kind that is not read here, as a list of "
        "files is. Convert it, a picture to PNG, a video to H.264, or name the file itself that is meant."
    )


def test_a_film_whose_pictures_lie_in_another_file_is_not_followed_there(tmp_path: Path) -> None:
    """QuickTime's data references (ISO/IEC 14496-12, 8.7.2), by address and by Apple's alias."""
    make_clip(tmp_path / SECRET)
    data = (tmp_path / SECRET).read_bytes()
    assert probe(tmp_path / SECRET).frame_count == 8
    begin = data.index(b"mdat") - 4
    (length,) = struct.unpack_from(">I", data, begin)
    bare = data[: begin + 8] + bytes(length - 8) + data[begin + length :]
    here = b"\0\0\0\x0curl \0\0\0\x01"
    assert bare.count(here) == 1
    for kind, flags in ((b"url ", 0), (b"alis", 0), (b"rsrc", 0)):
        # As long as what it replaces, so that nothing moves: where the file lies is what the alias would say next.
        (tmp_path / "a.mov").write_bytes(bare.replace(here, struct.pack(">I4sI", 12, kind, flags)))
        with pytest.raises(MediaError, match="holds no picture that can be decoded"):
            probe(tmp_path / "a.mov")


def test_numbered_pictures_are_not_read_for_one(tmp_path: Path) -> None:
    for number in range(3):
        Image.new("RGB", (8, 8)).save(tmp_path / f"a{number}.tga")
    (tmp_path / "a%d.tga").write_bytes(b"x")
    with pytest.raises(MediaError):
        probe(tmp_path / "a%d.tga")


def test_what_may_be_read_is_known_to_ffmpeg_and_opens_no_other_file() -> None:
    assert [name for name in DEMUXERS if not ContainerFormat(name, "r").is_input] == []
    referring = {"concat", "dash", "hls", "image2", "imf", "lavfi", "mlv", "rtp", "rtsp", "sap", "sdp", "vobsub"}
    assert referring.isdisjoint(DEMUXERS)
    assert len(set(DEMUXERS)) == len(DEMUXERS)


def test_whatever_a_user_names_is_opened_in_one_way() -> None:
    strays = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "av.open":
                words = ast.unparse(call)
                name = path.relative_to(PACKAGE).as_posix()
                if "'w'" not in words and "container_options=READING" not in words and name not in OWN_FILES:
                    strays.append(f"{name}: {words}")
    assert strays == []
