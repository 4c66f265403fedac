"""An ONNX graph that only needs other names for its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from facefusion.catalogue.convert.block_int8 import load
from facefusion.catalogue.convert.unsupported import REPORT
from facefusion.core.errors import ModelError


def convert(data: bytes, names: Mapping[str, str]) -> onnx.ModelProto:
    """Give inputs and outputs new names, by old name.

    Raises:
        ModelError: no ONNX file, an old name is not there, or a new one is taken.
    """
    model = load(data)
    graph = model.graph
    values = [*graph.input, *graph.output]
    unknown = names.keys() - {value.name for value in values}
    taken = set(names.values()) & {name for node in graph.node for name in (*node.input, *node.output)}
    if unknown or taken:
        raise ModelError(
            f"The ONNX model cannot be renamed: no {sorted(unknown)}, already there {sorted(taken)}", REPORT
        )
    for value in values:
        value.name = names.get(value.name, value.name)
    for node in graph.node:
        for field in (node.input, node.output):
            field[:] = [names.get(name, name) for name in field]
    return model
