"""What codecs keep outside of their packets, and what of it has to be alike where packets of two files meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from av.bitstream import BitStreamFilterContext
from av.packet import Packet

START = b"\0\0\0\1"
"""Begins a unit of H.264 and HEVC in a stream (Annex B)."""

ALIKE = {
    "h264": "h264_metadata=tick_rate=1:level=6.2",
    "hevc": "hevc_metadata=tick_rate=1:level=6.2",
}
"""Filters that write the same clock and level into all parameter sets. A container has times of its own, and the level
says how fast a decoder has to be: neither changes a pixel."""

LEVEL_AT = {"h264": 3, "hevc": 12}
"""Where the level lies in the header (ISO/IEC 14496-15, 5.3.3.1 and 8.3.3.1)."""

HEVC_UNITS_AT = 22
"""Where hvcC begins to list its units."""

HEVC_REMARK = 39
"""A unit of HEVC in which the encoder writes about itself (SEI)."""

FLAC_SIZES = slice(4, 10)
"""Of the smallest and the largest frame in FLAC's STREAMINFO (RFC 9639, 8.2); 0 where unknown."""

FLAC_COUNT_AT = 13
"""Where the number of samples begins, after four bits of the sample's depth; the checksum of all follows."""


def comparable(codec: str, header: bytes) -> bytes:
    """A header without what may differ. Files with equal ones can share :func:`common_header`.

    Args:
        codec: FFmpeg's name.
        header: its ``extradata``.
    """
    if codec in ALIKE and header[:1] == b"\1":
        units = b"".join(START + unit for unit in _units(codec, header))
        filtered = BitStreamFilterContext(ALIKE[codec], codec).filter(Packet(units))
        return b"".join(bytes(packet) for packet in filtered)
    return common_header(codec, (header,))


def common_header(codec: str, headers: Sequence[bytes]) -> bytes:
    """The header of a stream that is made of packets under several, whose comparable parts are equal.

    Args:
        codec: FFmpeg's name.
        headers: one or more.
    """
    if codec in LEVEL_AT and all(header[:1] == b"\1" for header in headers):
        return max(headers, key=lambda header: header[LEVEL_AT[codec]])
    first = headers[0]
    if codec != "flac" or len(first) <= FLAC_COUNT_AT:
        return first
    depth = first[FLAC_COUNT_AT] & 0xF0
    unknown = bytes(len(first) - FLAC_COUNT_AT - 1)
    return first[: FLAC_SIZES.start] + bytes(6) + first[FLAC_SIZES.stop : FLAC_COUNT_AT] + bytes((depth,)) + unknown


def _units(codec: str, header: bytes) -> Iterator[bytes]:
    """The parameter sets in avcC or hvcC."""
    if codec == "h264":
        position = 5
        for mask in (0x1F, 0xFF):
            count, position = header[position] & mask, position + 1
            for _ in range(count):
                unit, position = _unit(header, position)
                yield unit
        return
    position = HEVC_UNITS_AT + 1
    for _ in range(header[HEVC_UNITS_AT]):
        kind, count = header[position] & 0x3F, int.from_bytes(header[position + 1 : position + 3], "big")
        position += 3
        for _ in range(count):
            unit, position = _unit(header, position)
            if kind != HEVC_REMARK:
                yield unit


def _unit(header: bytes, position: int) -> tuple[bytes, int]:
    """The unit whose length stands at a position, and where the next one begins."""
    begin = position + 2
    over = begin + int.from_bytes(header[position:begin], "big")
    return header[begin:over], over
