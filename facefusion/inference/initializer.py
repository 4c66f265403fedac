"""The last constant of a graph's file, without the graph.

Some models keep a matrix in their file that no node reads: the program around the graph is meant to use it, and it is
known by its place alone. The file is walked entry by entry, so that nothing but that constant comes into memory.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import TensorProto, numpy_helper

from facefusion.core.errors import ModelError
from facefusion.core.values import Tensor

GRAPH_OF_MODEL = 7
INITIALIZER_OF_GRAPH = 5
"""Field numbers of ``onnx.proto3``."""

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
"""Wire types of Protocol Buffers, https://protobuf.dev/programming-guides/encoding."""

LONGEST_VARINT = 10
"""Bytes."""


@dataclass(frozen=True, slots=True)
class _Field:
    """Where the content of one delimited entry lies."""

    number: int
    begin: int
    end: int


def last_initializer(path: Path) -> Tensor:
    """The constant that stands last in the file's list, as ``float32`` whatever precision it is stored in.

    Raises:
        ModelError: the file has no constant, or cannot be read as a graph.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = _last(data)
            tensor = None if found is None else TensorProto.FromString(data[found.begin : found.end])
        if tensor is None:
            raise ModelError(
                f"{path} holds no constant",
                "It was saved anew and lost what its family needs: delete it and fetch it with force-download, "
                "or bring the right one.",
            )
        return np.asarray(numpy_helper.to_array(tensor), np.float32)
    except (OSError, ValueError, TypeError, IndexError, DecodeError) as error:
        raise ModelError(
            f"{path} cannot be read as a graph ({error})",
            "Delete the file and fetch it again with force-download, or bring another one.",
        ) from error


def _last(data: mmap.mmap) -> _Field | None:
    last = None
    for graph in _fields(data, 0, len(data)):
        if graph.number == GRAPH_OF_MODEL:
            for entry in _fields(data, graph.begin, graph.end):
                if entry.number == INITIALIZER_OF_GRAPH:
                    last = entry
    return last


def _fields(data: mmap.mmap, begin: int, end: int) -> Iterator[_Field]:
    """The delimited entries of one message; all others are passed over."""
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
            yield _Field(tag >> 3, at, at + length)
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
