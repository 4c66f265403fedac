"""Matroska and WebM: a tag, since there is no place for XMP (RFC 9559, 5.1.8). It is given when the file is muxed."""

from __future__ import annotations

from collections.abc import Iterator

from facefusion.media.ebml import CLUSTER, SEGMENT, Element, elements
from facefusion.provenance.xmp.scan import Scan

BEGIN = b"\x1a\x45\xdf\xa3"
DIGITAL_SOURCE_TYPE = "DIGITAL_SOURCE_TYPE"
"""Name of the tag."""
TAGS, TAG, SIMPLE_TAG, NAME, TEXT = 0x1254C367, 0x7373, 0x67C8, 0x45A3, 0x4487
LONGEST_TEXT = 1 << 16


def source_types(scan: Scan) -> Iterator[str]:
    """What tags of that name say."""
    for part in _parts(scan):
        if part.kind != TAGS:
            continue
        for tag in _inside(scan, part, TAG):
            for simple in _inside(scan, tag, SIMPLE_TAG):
                texts = {one.kind: one for one in _inside(scan, simple, NAME, TEXT)}
                if NAME in texts and TEXT in texts and _text(scan, texts[NAME]).upper() == DIGITAL_SOURCE_TYPE:
                    yield _text(scan, texts[TEXT])


def _parts(scan: Scan) -> Iterator[Element]:
    for segment in _counted(scan, 0, scan.size):
        if segment.kind == SEGMENT:
            yield from (part for part in _counted(scan, segment.start, segment.end) if part.kind != CLUSTER)


def _inside(scan: Scan, parent: Element, *kinds: int) -> Iterator[Element]:
    return (one for one in _counted(scan, parent.start, parent.end) if one.kind in kinds)


def _counted(scan: Scan, start: int, end: int) -> Iterator[Element]:
    for found in elements(scan.file, start, end):
        scan.count()
        yield found


def _text(scan: Scan, element: Element) -> str:
    if element.end - element.start > LONGEST_TEXT:
        return ""
    return scan.at(element.start, element.end - element.start).rstrip(b"\0").decode(errors="replace").strip()
