"""The sizes of inputs that an engine is compiled for."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from facefusion.core.errors import ModelError
from facefusion.core.graph import PICTURES_AT_ONCE, PIXELS_AT_ONCE, Shape, most_in_a_run
from facefusion.inference.graph_file import (
    GRAPH_OF_MODEL,
    INITIALIZER_OF_GRAPH,
    INPUT_OF_GRAPH,
    NAME_OF_TENSOR,
    Entry,
    inside,
)

Range: TypeAlias = dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
"""For each input whose shape is open, its smallest and its largest shape."""

RULE = f"1 to {PICTURES_AT_ONCE} pictures of {PIXELS_AT_ONCE} pixels together"
"""Changes with what :func:`shape_range` gives, and is part of the key that engines are kept under."""


def shape_range(inputs: Mapping[str, Shape]) -> Range:
    """From one picture to as many as go through a graph together.

    Left to itself an engine is compiled for the first shape that comes, and once more, for minutes and in the midst of
    a video, when a frame has more faces than any before.

    Args:
        inputs: shape of each input of a graph.

    Returns:
        Nothing where all shapes are known, or where more than the number of pictures is open, which nobody knows before
        it comes.
    """
    open_inputs = {name: shape for name, shape in inputs.items() if None in shape}
    if not set(":,").isdisjoint("".join(open_inputs)):
        return {}  # the signs that stand between names and shapes in the options
    rest = {name: tuple(size for size in shape[1:] if size is not None) for name, shape in open_inputs.items()}
    if any(len(rest[name]) != len(shape) - 1 for name, shape in open_inputs.items()):
        return {}
    rows = min(
        (most_in_a_run(sizes[-1], sizes[-2]) for sizes in rest.values() if len(sizes) == 3),
        default=PICTURES_AT_ONCE,
    )
    return {name: ((1, *sizes), (rows, *sizes)) for name, sizes in rest.items()}


def input_shapes(path: Path) -> dict[str, Shape]:
    """Shape of each input of a graph, without reading its weights.

    Raises:
        ModelError: the file cannot be read as a graph.
    """
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # noqa: PLC0415 - few need it
    from onnx import ValueInfoProto  # noqa: PLC0415 - likewise

    shapes: dict[str, Shape] = {}
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for graph in inside(data, 0, len(data), GRAPH_OF_MODEL):
                constants = set(_constants(data, graph))
                for found in inside(data, graph.begin, graph.end, INPUT_OF_GRAPH):
                    entry = ValueInfoProto.FromString(data[found.begin : found.end])
                    if entry.name.encode() not in constants:
                        sizes = entry.type.tensor_type.shape.dim
                        shapes[entry.name] = tuple(size.dim_value or None for size in sizes)
    except (OSError, ValueError, IndexError, DecodeError) as error:
        raise ModelError(
            f"{path} cannot be read as a graph ({error})",
            "Delete the file and fetch it again with force-download, or bring another one.",
        ) from error
    return shapes


def _constants(data: mmap.mmap, graph: Entry) -> Iterator[bytes]:
    """Names of a graph's constants, which older files list among its inputs too."""
    for constant in inside(data, graph.begin, graph.end, INITIALIZER_OF_GRAPH):
        for name in inside(data, constant.begin, constant.end, NAME_OF_TENSOR):
            yield data[name.begin : name.end]
