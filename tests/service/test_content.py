from pathlib import PurePath

import pytest

from facefusion.core.formats import EXTENSIONS, kind_of
from facefusion.service.content import MEDIA_TYPES, extension_of


def box(brand, *others):
    body = b"ftyp" + brand + b"\0\0\0\0" + b"".join(others)
    return (len(body) + 4).to_bytes(4, "big") + body


HEADS = {
    b"\x89PNG\r\n\x1a\n": ".png",
    b"\xff\xd8\xff\xe0\0\x10JFIF": ".jpg",
    b"GIF89a": ".gif",
    b"BM6\0": ".bmp",
    b"II*\0": ".tif",
    b"MM\0*": ".tif",
    b"RIFF\x24\0\0\0WEBPVP8 ": ".webp",
    b"RIFF\x24\0\0\0AVI LIST": ".avi",
    b"RIFF\x24\0\0\0WAVEfmt ": ".wav",
    box(b"isom", b"iso2", b"avc1"): ".mp4",
    box(b"mp42"): ".mp4",
    box(b"qt  "): ".mov",
    box(b"M4V "): ".m4v",
    box(b"M4A ", b"isom"): ".m4a",
    box(b"avif", b"mif1"): ".avif",
    box(b"mif1", b"avif"): ".avif",
    box(b"heic", b"mif1"): ".heic",
    box(b"mif1", b"heic"): ".heic",
    b"\0\0\0\x08wide": ".mov",
    b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm": ".webm",
    b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x88matroska": ".mkv",
    bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c"): ".wmv",
    bytes.fromhex("060e2b34020501010d01020101020400"): ".mxf",
    b"\0\0\1\xba\x44": ".mpg",
    (b"\x47" + bytes(187)) * 3: ".mpg",
    b"fLaC\0": ".flac",
    b"ID3\x04": ".mp3",
    b"OggS" + bytes(24) + b"OpusHead": ".opus",
    b"OggS" + bytes(24) + b"\x01vorbis": ".ogg",
}


@pytest.mark.parametrize("head", HEADS, ids=HEADS.values())
def test_a_format_is_known_by_its_first_bytes(head):
    assert extension_of(head) == HEADS[head]


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\0" * 4096,
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
        b"ffconcat version 1.0\nfile /etc/passwd\n",
        b"<?xml version='1.0'?><MPD/>",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%!PS-Adobe",
        b"MZ\x90\0",
        b"PK\x03\x04",
        b"RIFF\x24\0\0\0ACON",
        b"v=0\r\no=- 0 0 IN IP4 127.0.0.1",
    ],
)
def test_what_could_have_a_decoder_open_other_files_is_nothing_that_is_known(head):
    assert extension_of(head) is None


def test_every_format_has_a_type():
    known = {extension for extensions in EXTENSIONS.values() for extension in extensions}
    assert set(MEDIA_TYPES) == known
    for head, extension in HEADS.items():
        assert kind_of(PurePath(f"x{extension}")) is not None, head
