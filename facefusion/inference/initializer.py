"""The last constant of a graph's file, without the graph.

Some models keep a matrix in their file that no node reads: the program around the graph is meant to use it, and it is
known by its place alone, the last. Tools that work on a graph put constants of their own behind it; but those are read.
The file is walked entry by entry, so that nothing but names and that constant comes into memory.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from facefusion.core.errors import ModelError
from facefusion.core.values import Tensor
from facefusion.inference.graph_file import (
    ATTRIBUTE_OF_NODE,
    GRAPH_OF_MODEL,
    GRAPHS_OF_ATTRIBUTE,
    INITIALIZER_OF_GRAPH,
    INPUT_OF_NODE,
    NAME_OF_TENSOR,
    NODE_OF_GRAPH,
    Entry,
    entries,
    inside,
)


def last_initializer(path: Path) -> Tensor:
    """The last constant that no node reads; where nodes read all of them, the last of all.

    It comes as ``float32``, whatever precision it is stored in.

    Raises:
        ModelError: the file has no constant, or cannot be read as a graph.
    """
    # ONNX's own package takes 9 MB that most runs do without.
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # noqa: PLC0415
    from onnx import TensorProto, numpy_helper  # noqa: PLC0415

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
        if tensor.data_location == TensorProto.EXTERNAL:
            raise ModelError(
                f"{path} keeps its last constant in another file", "Save the model as one file, or bring the right one."
            )
        return np.asarray(numpy_helper.to_array(tensor), np.float32)
    except (OSError, ValueError, TypeError, IndexError, DecodeError) as error:
        raise ModelError(
            f"{path} cannot be read as a graph ({error})",
            "Delete the file and fetch it again with force-download, or bring another one.",
        ) from error


def _last(data: mmap.mmap) -> Entry | None:
    last = last_unread = None
    for graph in inside(data, 0, len(data), GRAPH_OF_MODEL):
        read = set(_names_read(data, graph))
        for constant in inside(data, graph.begin, graph.end, INITIALIZER_OF_GRAPH):
            last = constant
            names = inside(data, constant.begin, constant.end, NAME_OF_TENSOR)
            if not any(data[name.begin : name.end] in read for name in names):
                last_unread = constant
    return last_unread or last


def _names_read(data: mmap.mmap, graph: Entry) -> Iterator[bytes]:
    """What the nodes of a graph take, and those of graphs within them."""
    for node in inside(data, graph.begin, graph.end, NODE_OF_GRAPH):
        for entry in entries(data, node.begin, node.end):
            if entry.number == INPUT_OF_NODE:
                yield data[entry.begin : entry.end]
            elif entry.number == ATTRIBUTE_OF_NODE:
                for inner in inside(data, entry.begin, entry.end, *GRAPHS_OF_ATTRIBUTE):
                    yield from _names_read(data, inner)
