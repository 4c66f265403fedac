"""The packets of a file of anybody's, and what they say of the source type.

What a file is, its first bytes say, never its name. Broken files give what is found before they break.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from facefusion.provenance.xmp import asf, boxes, gif, jpeg, matroska, png, riff, tiff
from facefusion.provenance.xmp.packet import LARGEST, BrokenPacketError, source_types_in
from facefusion.provenance.xmp.scan import DAMAGE, Scan, opened

Found = TypeVar("Found", bytes, str)

MOST_FOUND = 100
"""Packets, tags and values of one file: more are not there to tell anybody anything."""
MOST_BYTES = 2 * LARGEST
"""Of the packets of one file, together."""


class Words(NamedTuple):
    """What a file says of itself without signing it."""

    packets: tuple[bytes, ...]
    source_types: tuple[str, ...]


class _Format(NamedTuple):
    begins: tuple[bytes, ...]
    packets: Callable[[Scan], Iterator[bytes]]


_FORMATS = (
    _Format((jpeg.BEGIN,), jpeg.packets),
    _Format((png.BEGIN,), png.packets),
    _Format((riff.BEGIN,), riff.packets),
    _Format(gif.BEGIN, gif.packets),
    _Format(tiff.BEGIN, tiff.packets),
    _Format((asf.BEGIN,), asf.packets),
)
"""Formats that are told by their first bytes; files made of boxes are told by the next four."""


def xmp_packets(path: Path) -> tuple[bytes, ...]:
    """All packets of a file, the main one first; a JPEG's extended one follows its main one.

    Raises:
        InputError: the file cannot be read at all.
    """
    return tuple(_looked_through(path, _packets))


def read_xmp(path: Path) -> bytes | None:
    """The main packet of a file; none where there is none, or where the file is broken before it.

    Raises:
        InputError: the file cannot be read at all.
    """
    return next(iter(xmp_packets(path)), None)


def source_types(path: Path) -> tuple[str, ...]:
    """How a file says it came to be, as it is written there: known to the vocabulary or not, each once.

    XMP and, in Matroska and WebM, a tag are looked at; broken packets say nothing.

    Raises:
        InputError: the file cannot be read at all.
    """
    return words_of(path).source_types


def words_of(path: Path) -> Words:
    """The packets of a file, and the source types that they and its tags say.

    Raises:
        InputError: the file cannot be read at all.
    """
    packets, found = xmp_packets(path), _looked_through(path, _tags)
    for packet in packets:
        try:
            found += source_types_in(packet)
        except BrokenPacketError:
            continue
    return Words(packets, tuple(dict.fromkeys(filter(None, found)))[:MOST_FOUND])


def _looked_through(path: Path, look: Callable[[Scan], Iterator[Found]]) -> list[Found]:
    found: list[Found] = []
    with opened(path) as file:
        try:
            for one in look(Scan(file, path.stat().st_size)):
                found.append(one)
                if len(found) == MOST_FOUND or sum(map(len, found)) > MOST_BYTES:
                    break
        except DAMAGE:  # what was found before counts
            pass
    return [one for one in found if one]


def _packets(scan: Scan) -> Iterator[bytes]:
    head = scan.at(0, min(16, scan.size))
    for one in _FORMATS:
        if head.startswith(one.begins):
            yield from one.packets(scan)
            return
    if head[4:8] in boxes.TYPES:
        yield from boxes.packets(scan)


def _tags(scan: Scan) -> Iterator[str]:
    if scan.at(0, min(4, scan.size)) == matroska.BEGIN:
        yield from matroska.source_types(scan)
