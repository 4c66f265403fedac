"""A packet put into a movie: a box behind all others in MP4, user data in QuickTime (XMP part 3, 1.2.3 and 1.2.4)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from facefusion.media.image.box_file import Box, box, boxes
from facefusion.provenance.xmp.boxes import XMP_BOX, XMP_UUID, Located, is_packet_box, top
from facefusion.provenance.xmp.editing import Edit, put
from facefusion.provenance.xmp.scan import Scan

CONTAINERS = frozenset((b"trak", b"mdia", b"minf", b"stbl"))
"""On the way from a movie to the lists of where its data lies."""
PLACES, WIDE_PLACES = b"stco", b"co64"
"""Those lists, with four bytes a place and with eight."""
FOUR_BYTES = 1 << 32
LOCATING = frozenset((b"moof", b"mfra", b"sidx", b"meta"))
"""Boxes beside a movie that tell places in ways of their own; this program writes none of them."""
LARGEST_MOVIE = 1 << 30
"""Bytes of a ``moov`` box: a day of pictures and sound takes some 20 MB."""


class _Shift(NamedTuple):
    """What happens to places in the file."""

    since: int
    by: int
    wide: bool
    """They are written with eight bytes."""


def edits(scan: Scan, packet: bytes) -> list[Edit] | None:
    """What puts the packet behind all that is there, so that nothing moves; an old one becomes free space.

    None where the last box reaches as far as the file does and cannot be told otherwise.
    """
    found = _parts(scan)
    made = [_blank(one) for one in found if is_packet_box(scan, one)]
    last = found[-1]
    if last.end != scan.size:
        raise ValueError
    if scan.at(last.start, 4) == b"\0\0\0\0":
        if last.end - last.start >= FOUR_BYTES:
            return None
        made.append(Edit(last.start, last.start + 4, struct.pack(">I", last.end - last.start)))
    return [*made, put(scan.size, box(b"uuid", XMP_UUID, packet))]


def quicktime_edits(scan: Scan, packet: bytes) -> list[Edit] | None:
    """What puts the packet into the movie's user data, and tells anew where its pictures and sound lie.

    None for files of another layout than this program writes.
    """
    found = _parts(scan)
    movies = [one for one in found if one.kind == b"moov"]
    if len(movies) != 1 or any(one.kind in LOCATING for one in found):
        return None
    (movie,) = movies
    if movie.end - movie.body > LARGEST_MOVIE or movie.body - movie.start != 8:
        return None
    scan.file.seek(movie.body)
    told = _with_user_data(scan.file.read(movie.end - movie.body), packet)
    made = [_blank(one) for one in found if is_packet_box(scan, one)]
    return [*made, Edit(movie.start, movie.end, _moved_movie(told, movie))]


def _parts(scan: Scan) -> list[Located]:
    found = list(top(scan))
    if not found or found[0].kind != b"ftyp":
        raise ValueError
    return found


def _blank(old: Located) -> Edit:
    return Edit(old.start + 4, old.end, b"free" + b"\0" * (old.end - old.start - 8))


def _with_user_data(data: bytes, packet: bytes) -> bytes:
    """What a movie holds, with the packet in its user data."""
    kept, user = [], []
    for found in boxes(data):
        if found.kind == b"udta":
            user += [_whole(data, one) for one in boxes(data, found.start, found.end) if one.kind != XMP_BOX]
        else:
            kept.append(_whole(data, found))
    return b"".join((*kept, box(b"udta", *user, box(XMP_BOX, packet))))


def _moved_movie(data: bytes, movie: Located) -> bytes:
    """The box of a movie that has grown, with the places of what lies behind it."""
    whole = Box(b"moov", 0, len(data))
    # Places may need more bytes when they move, which moves them further: with eight bytes each there is room for all.
    for wide in (False, True):
        size = len(box(b"moov", *_moved(data, whole, _Shift(movie.end, 0, wide))))
        shift = _Shift(movie.end, size - (movie.end - movie.start), wide)
        try:
            return box(b"moov", *_moved(data, whole, shift))
        except OverflowError:
            continue
    raise ValueError


def _moved(data: bytes, parent: Box, shift: _Shift) -> Iterator[bytes]:
    """What a box holds, with places of data told anew."""
    for found in boxes(data, parent.start, parent.end):
        if found.kind in CONTAINERS:
            yield box(found.kind, *_moved(data, found, shift))
        elif found.kind in (PLACES, WIDE_PLACES):
            yield _told(data, found, shift)
        else:
            yield _whole(data, found)


def _told(data: bytes, listed: Box, shift: _Shift) -> bytes:
    (count,) = struct.unpack_from(">I", data, listed.start + 4)
    old = ">u4" if listed.kind == PLACES else ">u8"
    places = np.frombuffer(data, old, count, listed.start + 8).astype(np.int64)
    places = np.where(places >= shift.since, places + shift.by, places)
    wide = shift.wide or listed.kind == WIDE_PLACES
    if not wide and places.max(initial=0) >= FOUR_BYTES:
        raise OverflowError
    head = data[listed.start : listed.start + 8]
    return box(WIDE_PLACES if wide else PLACES, head, places.astype(">u8" if wide else ">u4").tobytes())


def _whole(data: bytes, found: Box) -> bytes:
    """A box with its head, which has four bytes for the length: who writes more for a part of a movie is not known."""
    if data[found.start - 4 : found.start] != found.kind:
        raise ValueError
    return data[found.start - 8 : found.end]
