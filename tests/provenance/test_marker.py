"""What a marker says of the packet that a target brings along."""

from __future__ import annotations

from facefusion.core.stop import StopToken
from facefusion.provenance.marker import Marker
from facefusion.provenance.records import Declaration, Deed, SourceType
from facefusion.provenance.xmp.write import write_xmp
from tests.provenance.samples import still

SAID = Declaration((Deed("face_swapper", SourceType.COMPOSITE),), "FaceFusion 1.2")
EXTENDED = (
    b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:n="http://ns.adobe.com/xmp/note/">'
    b'<rdf:Description n:HasExtendedXMP="AB"/></rdf:RDF>'
)


def test_the_part_of_a_packet_that_stays_behind_is_told(tmp_path):
    marker = Marker(SAID)
    path = still(tmp_path, ".jpg")
    assert write_xmp(path, ".jpg", marker.packet(EXTENDED))
    assert b"HasExtendedXMP" not in path.read_bytes()
    assert marker.complete(path, path, StopToken()).notices == (
        "The extended part of the target's XMP data is left out: results hold no such part.",
    )
