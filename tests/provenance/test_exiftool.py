"""What a program of others reads of our marks: exiftool (Debian: libimage-exiftool-perl)."""

from __future__ import annotations

import json
import subprocess

import pytest

from facefusion.observability.events import EventSink
from facefusion.provenance.records import Declaration, Deed, SourceType
from facefusion.provenance.signing.sealer import open_sealer
from facefusion.provenance.signing.settings import SigningSettings
from facefusion.provenance.xmp.packet import packet
from facefusion.provenance.xmp.write import write_xmp
from tests.provenance.samples import ANIMATIONS, STILLS, VIDEOS, animation, still, video, written_still
from tests.provenance.signing.certificates import write_pair

pytestmark = pytest.mark.service

COMPOSITE = SourceType.COMPOSITE
PACKET = packet(COMPOSITE)
SAID = Declaration((Deed("face_swapper", COMPOSITE),), "FaceFusion 1.2")


class Deaf(EventSink):
    def emit(self, event):
        pass


def told(path):
    """What exiftool reads, by its names; nothing that it warns of."""
    done = subprocess.run(["exiftool", "-json", "-G1", str(path)], capture_output=True, text=True, check=True)
    (found,) = json.loads(done.stdout)
    warnings = {name: text for name, text in found.items() if name.endswith((":Warning", ":Error"))}
    assert warnings == {}
    return found


def samples():
    for suffix in STILLS:
        yield pytest.param(lambda folder, suffix=suffix: still(folder, suffix), id=f"still{suffix}")
    for suffix in ANIMATIONS:
        yield pytest.param(lambda folder, suffix=suffix: animation(folder, suffix), id=f"moving{suffix}")
    for suffix in VIDEOS:
        yield pytest.param(lambda folder, suffix=suffix: video(folder / f"video{suffix}"), id=f"video{suffix}")


def sealed(path, tmp_path):
    keys = tmp_path / "keys"
    keys.mkdir()
    certificate, key = write_pair(keys)
    sealer = open_sealer(SigningSettings(signing_certificate=certificate, signing_key=key), Deaf())
    return sealer.seal(path, path, SAID, None)


@pytest.mark.parametrize("make", list(samples()))
def test_the_source_type_is_read_before_and_after_signing(tmp_path, make):
    path = make(tmp_path)
    assert write_xmp(path, path.suffix, PACKET)
    assert told(path)["XMP-iptcExt:DigitalSourceType"] == COMPOSITE.value
    sealed(path, tmp_path)
    assert told(path)["XMP-iptcExt:DigitalSourceType"] == COMPOSITE.value


@pytest.mark.parametrize("suffix", [".avif", ".heic"])
def test_the_source_type_of_avif_and_heic_is_read_before_and_after_signing(tmp_path, suffix):
    path = written_still(tmp_path, suffix, PACKET)
    assert told(path)["XMP-iptcExt:DigitalSourceType"] == COMPOSITE.value
    sealed(path, tmp_path)
    assert told(path)["XMP-iptcExt:DigitalSourceType"] == COMPOSITE.value


@pytest.mark.parametrize("suffix", [".mkv", ".webm"])
def test_the_tag_of_matroska_is_read(tmp_path, suffix):
    assert told(video(tmp_path / f"video{suffix}"))["Matroska:DigitalSourceType"] == COMPOSITE.value


@pytest.mark.parametrize("suffix", [".jpg", ".png"])
def test_the_manifest_is_read(tmp_path, suffix):
    path = still(tmp_path, suffix)
    sealed(path, tmp_path)
    assert told(path)["JUMBF:JUMDLabel"] == "c2pa"


def test_a_packet_that_exiftool_wrote_is_kept_and_says_it_then(tmp_path):
    path = still(tmp_path, ".jpg")
    words = ["-XMP-dc:Title=a title", "-XMP-iptcExt:DigitalSourceType=http://example/old", "-XMP-xmp:Rating=4"]
    subprocess.run(["exiftool", "-q", "-overwrite_original", *words, str(path)], check=True)
    from facefusion.provenance.xmp.read import read_xmp, source_types

    assert source_types(path) == ("http://example/old",)
    written = read_xmp(path)
    assert written is not None
    assert write_xmp(path, ".jpg", packet(COMPOSITE, written))
    found = told(path)
    assert (found["XMP-dc:Title"], found["XMP-xmp:Rating"]) == ("a title", 4)
    assert found["XMP-iptcExt:DigitalSourceType"] == COMPOSITE.value


@pytest.mark.parametrize("suffix", [".gif", ".jpg", ".png", ".tiff", ".mov", ".mp4"])
def test_what_exiftool_writes_is_read(tmp_path, suffix):
    from facefusion.provenance.xmp.read import source_types

    path = video(tmp_path / f"video{suffix}") if suffix in VIDEOS else still(tmp_path, suffix)
    word = f"-XMP-iptcExt:DigitalSourceType={COMPOSITE.value}"
    subprocess.run(["exiftool", "-q", "-overwrite_original", word, str(path)], check=True)
    assert source_types(path) == (COMPOSITE.value,)
