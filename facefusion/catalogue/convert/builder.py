"""Writing an ONNX graph node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8
"""Opset 17 has every operator the converters emit and is read by each ONNX Runtime since 1.12."""

Array: TypeAlias = npt.NDArray[np.generic]
Dimensions: TypeAlias = Sequence[int | str]


class GraphBuilder:
    """Collects nodes and constants under names counted upwards, so the same calls give the same bytes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[TensorProto] = []
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._cast_already: set[str] = set()
        self._count = 0

    def add(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:  # noqa: ANN401
        """Append a node with one output, and return that output's name."""
        name = output or self._next(operator.lower())
        self._nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, value: npt.ArrayLike, dtype: npt.DTypeLike = np.float32) -> str:
        """Keep a constant of type ``dtype``; equal constants are kept once. A scalar stays a scalar."""
        array = np.array(value, dtype, order="C")
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._known:
            self._known[key] = self._next("constant")
            self._constants.append(numpy_helper.from_array(array, self._known[key]))
        return self._known[key]

    def weight(self, values: Array) -> str:
        """Keep a float weight in the precision it came in; the graph sees float32.

        A half-precision weight is stored as such and cast in the graph: the file is half as large, no value changes,
        and a runtime folds the cast away when it loads the graph.
        """
        if values.dtype == np.float16:
            stored = self.constant(values, np.float16)
            return self._cast(stored)
        return self.constant(values)

    def reshape(self, value: str, shape: Sequence[int]) -> str:
        """Append a reshape to a fixed shape."""
        return self.add("Reshape", value, self.constant(shape, np.int64))

    def columns(self, value: str, start: int, stop: int) -> str:
        """Append a slice ``[..., start:stop]``."""
        return self.add(
            "Slice",
            value,
            *(self.constant([bound], np.int64) for bound in (start, stop)),
            self.constant([-1], np.int64),
        )

    def model(self, inputs: Mapping[str, Dimensions], outputs: Mapping[str, Dimensions]) -> onnx.ModelProto:
        """Close the graph. Inputs and outputs are float32; a dimension is a number, or a name where it is free."""
        graph = helper.make_graph(self._nodes, self._name, _declared(inputs), _declared(outputs), self._constants)
        opset = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="facefusion")

    def _cast(self, stored: str) -> str:
        cast = f"{stored}_float"
        if stored not in self._cast_already:
            self._cast_already.add(stored)
            self.add("Cast", stored, output=cast, to=TensorProto.FLOAT)
        return cast

    def _next(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"


def _declared(values: Mapping[str, Dimensions]) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in values.items()]
