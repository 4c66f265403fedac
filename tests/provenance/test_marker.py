"""Marking one result at its end."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from facefusion.core.errors import OutputError, SigningError, UsageError
from facefusion.core.stop import StopToken
from facefusion.media.finishing import finish_into_place
from facefusion.media.output import part_path
from facefusion.provenance.marker import Marker
from facefusion.provenance.records import Declaration, Deed, SourceType, sidecar_of
from facefusion.provenance.side_car import check_side_car
from facefusion.provenance.xmp.packet import packet
from facefusion.provenance.xmp.read import source_types
from facefusion.provenance.xmp.write import write_xmp
from tests.provenance.samples import still

DECLARED = Declaration((Deed("face_swapper", SourceType.COMPOSITE),), "FaceFusion 9")
EXTENDED = (
    b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:n="http://ns.adobe.com/xmp/note/">'
    b'<rdf:Description n:HasExtendedXMP="AB"/></rdf:RDF>'
)


class Seal:
    """Signs nothing, but notes what it is asked to sign, and lays a manifest beside it where it is told to."""

    signer = "Ann"

    def __init__(self, *, beside: bool = False, failure: Exception | None = None) -> None:
        self._beside = beside
        self._failure = failure
        self.asked: list[tuple[bytes, str, Declaration, Path | None]] = []

    def seal(self, file: Path, name: Path, declaration: Declaration, parent: Path | None) -> Path | None:
        self.asked.append((file.read_bytes(), name.name, declaration, parent))
        if self._failure is not None:
            raise self._failure
        if not self._beside:
            return None
        made = file.with_name(f"{file.name}.c2pa")
        made.write_bytes(b"\0\0\0\0jumb")
        return made


def finished(path: Path, marker: Marker) -> tuple[str, ...]:
    part = part_path(path)
    Image.new("RGB", (8, 8)).save(part, "BMP" if path.suffix == ".bmp" else "GIF")
    try:
        return finish_into_place(part, path, marker, lambda: None, StopToken())
    finally:
        part.unlink(missing_ok=True)


def test_the_words_are_in_the_file_before_it_is_signed(tmp_path):
    seal, parent, path = Seal(), tmp_path / "parent.png", tmp_path / "a.gif"
    marker = Marker(DECLARED, parent, seal)
    assert finished(path, marker) == ()
    assert seal.asked == [(path.read_bytes(), "a.gif", DECLARED, parent)]
    assert source_types(path) == (SourceType.COMPOSITE.value,)
    assert (marker.is_told, marker.side_car) == (True, None)


def test_a_file_that_holds_neither_has_a_manifest_beside_it(tmp_path):
    path = tmp_path / "a.bmp"
    marker = Marker(DECLARED, None, Seal(beside=True))
    assert finished(path, marker) == ("a.bmp cannot hold a signed manifest; it lies beside it, in a.bmp.c2pa.",)
    assert (marker.is_told, marker.side_car) == (False, sidecar_of(path))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.bmp", "a.bmp.c2pa"]
    assert finished(path, Marker(DECLARED)) == ("a.bmp has no place to say how it came to be.",)
    assert [one.name for one in tmp_path.iterdir()] == ["a.bmp"]


def test_what_is_kept_unsigned_says_how_it_came_to_be(tmp_path):
    with pytest.raises(SigningError):
        finished(tmp_path / "a.gif", Marker(DECLARED, None, Seal(failure=SigningError("no", "So what."))))
    (kept,) = tmp_path.iterdir()
    assert kept.name == "a.gif.unsigned.part"
    assert source_types(kept) == (SourceType.COMPOSITE.value,)


def test_a_packet_keeps_what_else_the_target_says(tmp_path):
    said = packet(SourceType.ENHANCED).replace(b"<rdf:Description", b"<rdf:Description xmlns:a='urn:a' a:b='c'", 1)
    told = Marker(DECLARED).packet(said)
    assert b"urn:a" in told
    assert SourceType.COMPOSITE.value.encode() in told
    assert SourceType.ENHANCED.value.encode() not in told


def test_there_has_to_be_something_to_say():
    with pytest.raises(ValueError, match="nothing to say"):
        Marker(Declaration((Deed("face_debugger", None),), "FaceFusion 9"))


@pytest.mark.parametrize(
    ("name", "sealer", "copies"),
    [("a.mp4", Seal(), 2), ("a.mp4", None, 1), ("a.mov", None, 2), ("a.mkv", Seal(), 1), ("a.mkv", None, 1)],
)
def test_a_file_is_there_twice_while_it_is_written_anew(name, sealer, copies):
    assert Marker(DECLARED, None, sealer).copies(Path(name)) == copies


def test_what_is_no_manifest_is_not_taken_for_an_older_one(tmp_path):
    side = sidecar_of(tmp_path / "a.mkv")
    check_side_car(tmp_path / "a.mkv")
    side.write_bytes(b"\0\0\1\0jumb")
    check_side_car(tmp_path / "a.mkv")
    side.write_bytes(b"mine")
    with pytest.raises(UsageError, match=r"a\.mkv\.c2pa is there already and is not a C2PA manifest"):
        check_side_car(tmp_path / "a.mkv")
    side.unlink()
    side.mkdir()
    with pytest.raises(UsageError, match=r"a\.mkv\.c2pa is a folder"):
        check_side_car(tmp_path / "a.mkv", "Or not.")


def test_a_name_too_long_for_a_side_car_is_refused_only_where_one_has_to_be_made(tmp_path):
    name = "x" * 251
    check_side_car(tmp_path / f"{name}.jpg")
    check_side_car(tmp_path / f"{name}.bmp", is_signed=False)
    with pytest.raises(OutputError, match=r"x\.bmp\.c2pa cannot be written: the name is too long\. Or not\."):
        check_side_car(tmp_path / f"{name}.bmp", "Or not.")


def test_the_part_of_a_packet_that_stays_behind_is_told(tmp_path):
    marker = Marker(DECLARED)
    path = still(tmp_path, ".jpg")
    assert write_xmp(path, ".jpg", marker.packet(EXTENDED))
    assert b"HasExtendedXMP" not in path.read_bytes()
    assert marker.complete(path, path, StopToken()).notices == (
        "The extended part of the target's XMP data is left out: results hold no such part.",
    )
