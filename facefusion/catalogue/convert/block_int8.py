"""ONNX graphs whose weights are stored as int8 in blocks, made readable for every runtime.

OpenCV Zoo's ``int8bq`` files use ``DequantizeLinear`` with a ``block_size`` on operands that the standard does not
allow it for, so ONNX Runtime refuses them. Each is replaced by what it means: ``(weight - zero point) * scale``, with
scale and zero point repeated along the block. Large weights stay int8 in the file and are spread out by four standard
nodes, which a runtime folds into a float32 constant when it loads the graph: no value changes and the file stays small.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import NodeProto, TensorProto, helper, numpy_helper

from facefusion.catalogue.convert.builder import Array
from facefusion.catalogue.convert.unsupported import REPORT
from facefusion.core.errors import ModelError

_SMALL = 1024
"""A tensor with fewer elements is written out as float32: spreading it out in the graph would save nothing."""


def convert(data: bytes, *, free_size: bool = False) -> onnx.ModelProto:
    """Rewrite the graph; names, order of nodes and results stay.

    Args:
        data: an ONNX file.
        free_size: let height and width of the one (1, C, H, W) input vary, and with them axis 1 of the outputs, which
            then is the number of grid cells. The graph must be fully convolutional.

    Raises:
        ModelError: no ONNX file, or a ``DequantizeLinear`` of something else than constants.
    """
    model = load(data)
    graph = model.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    nodes: list[NodeProto] = []
    added: list[TensorProto] = []
    for node in graph.node:
        if node.op_type == "DequantizeLinear":
            replaced = _Blocks.read(node, constants)
            nodes.extend(replaced.nodes())
            added.extend(replaced.constants())
        else:
            nodes.append(node)
    used = {name for node in nodes for name in node.input}
    tensors = [tensor for tensor in (*graph.initializer, *added) if tensor.name in used]
    _replace(graph.node, nodes)
    _replace(graph.initializer, tensors)
    # Older exporters list weights as inputs too: those still there would look changeable, the others be asked for.
    given = used - constants.keys()
    _replace(graph.input, [value for value in graph.input if value.name in given])
    del graph.value_info[:]
    if free_size:
        _free(graph)
    return model


def load(data: bytes) -> onnx.ModelProto:
    """Parse an ONNX file; a :class:`ModelError` where it is none."""
    try:
        return onnx.load_model_from_string(data)
    except DecodeError as error:
        raise ModelError(f"The data are no ONNX model: {error}", "Fetch the model again.") from error


def _replace(field: Any, values: Iterable[object]) -> None:  # noqa: ANN401 - a repeated field of protobuf
    kept = list(values)
    del field[:]
    field.extend(kept)


def _free(graph: onnx.GraphProto) -> None:
    height, width = graph.input[0].type.tensor_type.shape.dim[2:4]
    height.dim_param, width.dim_param = "height", "width"
    for value in graph.output:
        value.type.tensor_type.shape.dim[1].dim_param = f"cells_{value.name}"


@dataclass(frozen=True, slots=True)
class _Blocks:
    """One block-wise quantised constant and the name of its float32 form."""

    name: str
    values: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]
    zeros: npt.NDArray[np.float32]
    axis: int
    block: int

    @classmethod
    def read(cls, node: NodeProto, constants: Mapping[str, Array]) -> _Blocks:
        if any(name not in constants for name in node.input if name):
            raise ModelError(
                f"DequantizeLinear of {node.input[0]!r} works on no constant, which is not supported", REPORT
            )
        attributes = {attribute.name: attribute.i for attribute in node.attribute}
        values, scales = constants[node.input[0]].astype(np.int8, casting="safe"), constants[node.input[1]]
        zeros = constants[node.input[2]] if len(node.input) > 2 and node.input[2] else np.zeros_like(scales)
        axis = attributes.get("axis", 1) if values.ndim > 1 else 0
        return cls(
            name=node.output[0],
            values=values,
            scales=scales.astype(np.float32),
            zeros=zeros.astype(np.float32),
            axis=axis % values.ndim,
            block=attributes.get("block_size", 0),
        )

    @property
    def stays_int8(self) -> bool:
        """Only whole blocks along the last axis can be spread out by reshaping."""
        return (
            self.values.size >= _SMALL
            and self.block > 0
            and self.values.ndim == 2
            and self.axis == 1
            and self.values.shape[1] == self.scales.shape[1] * self.block
        )

    def nodes(self) -> list[NodeProto]:
        if not self.stays_int8:
            return []
        shifted = [self._named("float")]
        if self.zeros.any():
            shifted.append(self._named("shifted"))
        steps = [
            helper.make_node("Reshape", [self._named("int8"), self._named("blocked")], [self._named("blocks")]),
            helper.make_node("Cast", [self._named("blocks")], [shifted[0]], to=TensorProto.FLOAT),
        ]
        if self.zeros.any():
            steps.append(helper.make_node("Sub", [shifted[0], self._named("zeros")], [shifted[1]]))
        return [
            *steps,
            helper.make_node("Mul", [shifted[-1], self._named("scales")], [self._named("scaled")]),
            helper.make_node("Reshape", [self._named("scaled"), self._named("shape")], [self.name]),
        ]

    def constants(self) -> list[TensorProto]:
        if not self.stays_int8:
            return [numpy_helper.from_array(self._as_float(), self.name)]
        rows, blocks = self.scales.shape
        parts: dict[str, Array] = {
            "int8": self.values,
            "blocked": np.array([rows, blocks, self.block], np.int64),
            "zeros": self.zeros.reshape(rows, blocks, 1),
            "scales": self.scales.reshape(rows, blocks, 1),
            "shape": np.array(self.values.shape, np.int64),
        }
        return [numpy_helper.from_array(value, self._named(part)) for part, value in parts.items()]

    def _as_float(self) -> npt.NDArray[np.float32]:
        return (self.values.astype(np.float32) - self._spread(self.zeros)) * self._spread(self.scales)

    def _spread(self, parameters: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Scales or zero points for each element: one for all, one per index of the axis, or one per block."""
        if parameters.size == 1:
            return parameters.reshape(())
        if not self.block:
            shape = [1] * self.values.ndim
            shape[self.axis] = -1
            return parameters.reshape(shape)
        repeated = np.repeat(parameters, self.block, axis=self.axis)
        return np.take(repeated, np.arange(self.values.shape[self.axis]), axis=self.axis)

    def _named(self, part: str) -> str:
        return f"{self.name}.{part}"
