"""The entries of a graph's file, walked one by one, so that nothing but what is asked for comes into memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass

GRAPH_OF_MODEL, FUNCTION_OF_MODEL = 7, 25
NODE_OF_GRAPH, INITIALIZER_OF_GRAPH, INPUT_OF_GRAPH = 1, 5, 11
NAME_OF_FUNCTION, NODE_OF_FUNCTION, DOMAIN_OF_FUNCTION = 1, 7, 10
INPUT_OF_NODE, TYPE_OF_NODE, ATTRIBUTE_OF_NODE, DOMAIN_OF_NODE = 1, 4, 5, 7
GRAPHS_OF_ATTRIBUTE = frozenset({6, 11})
NAME_OF_TENSOR = 8
"""Field numbers of ``onnx.proto3``."""

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
"""Wire types of Protocol Buffers, https://protobuf.dev/programming-guides/encoding."""

LONGEST_VARINT = 10
"""Bytes."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where the content of one delimited entry lies."""

    number: int
    begin: int
    end: int


def inside(data: mmap.mmap, begin: int, end: int, *numbers: int) -> Iterator[Entry]:
    """The delimited entries of one message that have one of some numbers.

    Raises:
        ValueError: it is no message.
        IndexError: likewise; it ends too early.
    """
    return (entry for entry in entries(data, begin, end) if entry.number in numbers)


def entries(data: mmap.mmap, begin: int, end: int) -> Iterator[Entry]:
    """The delimited entries of one message; all others are passed over.

    Raises:
        ValueError: it is no message.
        IndexError: likewise; it ends too early.
    """
    at = begin
    while at < end:
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == VARINT:
            _, at = _varint(data, at)
        elif wire == DELIMITED:
            length, at = _varint(data, at)
            if at + length > end:
                raise ValueError("an entry is longer than what holds it")
            yield Entry(tag >> 3, at, at + length)
            at += length
        elif wire in {FIXED64, FIXED32}:
            at += 8 if wire == FIXED64 else 4
        else:
            raise ValueError(f"wire type {wire} is none of a graph")


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """The number that begins at ``at``, and where it ends."""
    value = 0
    for place in range(LONGEST_VARINT):
        byte = data[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError("a number has no end")
