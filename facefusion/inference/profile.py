"""The sizes of inputs that an engine is compiled for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from facefusion.core.errors import ModelError
from facefusion.core.graph import PICTURES_AT_ONCE, PIXELS_AT_ONCE, Shape, most_in_a_run

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
    rest = {name: tuple(size for size in shape[1:] if size is not None) for name, shape in open_inputs.items()}
    if any(len(rest[name]) != len(shape) - 1 for name, shape in open_inputs.items()):
        return {}
    rows = min(
        (most_in_a_run(sizes[-1], sizes[-2]) for sizes in rest.values() if len(sizes) == 3),
        default=PICTURES_AT_ONCE,
    )
    return {name: ((1, *sizes), (rows, *sizes)) for name, sizes in rest.items()}


def input_shapes(path: Path) -> dict[str, Shape]:
    """Shape of each input of a graph, without loading it into a session.

    Raises:
        ModelError: the file cannot be read as a graph.
    """
    import onnx  # noqa: PLC0415 - few need it, and it takes a quarter of a second

    try:
        graph: Any = onnx.load(path, load_external_data=False).graph
    except Exception as error:  # of protobuf, whose errors share no base with the system's
        raise ModelError(
            f"{path} cannot be read as a graph ({' '.join(str(error).split())[:300]})",
            "Delete the file and fetch it again with force-download, or bring another one.",
        ) from error
    constants = {constant.name for constant in graph.initializer}
    return {
        entry.name: tuple(size.dim_value or None for size in entry.type.tensor_type.shape.dim)
        for entry in graph.input
        if entry.name not in constants
    }
