"""Writes small TFLite files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np
import tflite
from flatbuffers import flexbuffers

_TYPES = {
    np.dtype(np.float32): tflite.TensorType.FLOAT32,
    np.dtype(np.float16): tflite.TensorType.FLOAT16,
    np.dtype(np.int32): tflite.TensorType.INT32,
}
_OPTIONS = {
    "ADD": "AddOptions",
    "MUL": "MulOptions",
    "CONCATENATION": "ConcatenationOptions",
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "MEAN": "ReducerOptions",
    "RESIZE_BILINEAR": "ResizeBilinearOptions",
    "STRIDED_SLICE": "StridedSliceOptions",
}


class Writer:
    """One subgraph, tensor by tensor and operator by operator."""

    def __init__(self) -> None:
        self._builder = flatbuffers.Builder(1024)
        self._tensors: list[tuple[str, tuple[int, ...], int, bytes]] = []
        self._operators: list[tuple[str, list[int], list[int], Mapping[str, Any]]] = []

    def tensor(self, name: str, shape: Sequence[int]) -> int:
        """A float32 value."""
        self._tensors.append((name, tuple(shape), tflite.TensorType.FLOAT32, b""))
        return len(self._tensors) - 1

    def constant(self, value: np.ndarray) -> int:
        """A constant of the array's type."""
        name = f"constant{len(self._tensors)}"
        self._tensors.append((name, value.shape, _TYPES[value.dtype], np.ascontiguousarray(value).tobytes()))
        return len(self._tensors) - 1

    def operator(self, code: str, inputs: Sequence[int], output: int, **options: Any) -> int:
        """An operator, its options by the names of the schema's fields; custom ones have names of their own."""
        self._operators.append((code, list(inputs), [output], options))
        return output

    def finish(self, inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
        """The file."""
        builder = self._builder
        buffers = [self._buffer(b""), *(self._buffer(data) for *_, data in self._tensors)]
        tensors = [self._tensor(i, *tensor[:3]) for i, tensor in enumerate(self._tensors)]
        codes = [self._code(operator[0]) for operator in self._operators]
        operators = [self._operator(i, *operator) for i, operator in enumerate(self._operators)]
        parts = {
            "Tensors": self._offsets(tensors),
            "Inputs": builder.CreateNumpyVector(np.array(inputs, np.int32)),
            "Outputs": builder.CreateNumpyVector(np.array(outputs, np.int32)),
            "Operators": self._offsets(operators),
        }
        graph = self._table("SubGraph", parts)
        model = self._table(
            "Model",
            {
                "Version": 3,
                "OperatorCodes": self._offsets(codes),
                "Subgraphs": self._offsets([graph]),
                "Buffers": self._offsets(buffers),
            },
        )
        builder.Finish(model, b"TFL3")
        return bytes(builder.Output())

    def _table(self, kind: str, fields: Mapping[str, Any]) -> int:
        getattr(tflite, f"{kind}Start")(self._builder)
        for name, value in fields.items():
            getattr(tflite, f"{kind}Add{name}")(self._builder, value)
        return int(getattr(tflite, f"{kind}End")(self._builder))

    def _offsets(self, offsets: Sequence[int]) -> int:
        self._builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self._builder.PrependUOffsetTRelative(offset)
        return int(self._builder.EndVector())

    def _buffer(self, data: bytes) -> int:
        fields = {"Data": self._builder.CreateByteVector(data)} if data else {}
        return self._table("Buffer", fields)

    def _tensor(self, index: int, name: str, shape: tuple[int, ...], kind: int) -> int:
        fields = {
            "Shape": self._builder.CreateNumpyVector(np.array(shape, np.int32)),
            "Name": self._builder.CreateString(name),
            "Type": kind,
            "Buffer": index + 1,
        }
        return self._table("Tensor", fields)

    def _code(self, code: str) -> int:
        number = getattr(tflite.BuiltinOperator, code, tflite.BuiltinOperator.CUSTOM)
        fields = {"DeprecatedBuiltinCode": min(number, 127), "BuiltinCode": number}
        if number == tflite.BuiltinOperator.CUSTOM:
            fields["CustomCode"] = self._builder.CreateString(code)
        return self._table("OperatorCode", fields)

    def _operator(
        self, index: int, code: str, inputs: list[int], outputs: list[int], options: Mapping[str, Any]
    ) -> int:
        fields = {
            "OpcodeIndex": index,
            "Inputs": self._builder.CreateNumpyVector(np.array(inputs, np.int32)),
            "Outputs": self._builder.CreateNumpyVector(np.array(outputs, np.int32)),
        }
        if code in _OPTIONS:
            fields["BuiltinOptions"] = self._table(_OPTIONS[code], options)
            fields["BuiltinOptionsType"] = getattr(tflite.BuiltinOptions, _OPTIONS[code])
        elif options:
            fields["CustomOptions"] = self._builder.CreateByteVector(bytes(flexbuffers.Dumps(dict(options))))
        return self._table("Operator", fields)
