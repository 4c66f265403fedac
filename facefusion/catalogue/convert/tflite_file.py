"""Reading a TFLite file: its tensors, and its operators in the order they run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tflite
from flatbuffers import flexbuffers

from facefusion.catalogue.convert.builder import Array
from facefusion.catalogue.convert.unsupported import REPORT
from facefusion.core.errors import ModelError

_TYPES: Mapping[int, type[np.generic]] = {
    tflite.TensorType.FLOAT32: np.float32,
    tflite.TensorType.FLOAT16: np.float16,
    tflite.TensorType.INT32: np.int32,
    tflite.TensorType.INT64: np.int64,
    tflite.TensorType.UINT8: np.uint8,
    tflite.TensorType.INT8: np.int8,
}
_POOL = (tflite.Pool2DOptions, ("Padding", "StrideW", "StrideH", "FilterWidth", "FilterHeight"))
_ACTIVATED = "FusedActivationFunction"
_OPTIONS: Mapping[str, tuple[Any, tuple[str, ...]]] = {
    "ADD": (tflite.AddOptions, (_ACTIVATED,)),
    "MUL": (tflite.MulOptions, (_ACTIVATED,)),
    "CONCATENATION": (tflite.ConcatenationOptions, ("Axis", _ACTIVATED)),
    "CONV_2D": (
        tflite.Conv2DOptions,
        ("Padding", "StrideW", "StrideH", "DilationWFactor", "DilationHFactor", _ACTIVATED),
    ),
    "DEPTHWISE_CONV_2D": (
        tflite.DepthwiseConv2DOptions,
        ("Padding", "StrideW", "StrideH", "DilationWFactor", "DilationHFactor", _ACTIVATED),
    ),
    "FULLY_CONNECTED": (tflite.FullyConnectedOptions, (_ACTIVATED,)),
    "MAX_POOL_2D": (_POOL[0], (*_POOL[1], _ACTIVATED)),
    "AVERAGE_POOL_2D": (_POOL[0], (*_POOL[1], _ACTIVATED)),
    "MEAN": (tflite.ReducerOptions, ("KeepDims",)),
    "RESIZE_BILINEAR": (tflite.ResizeBilinearOptions, ("AlignCorners", "HalfPixelCenters")),
    "STRIDED_SLICE": (
        tflite.StridedSliceOptions,
        ("BeginMask", "EndMask", "EllipsisMask", "NewAxisMask", "ShrinkAxisMask"),
    ),
}
_BUILTIN_NAMES = {code: name for name, code in vars(tflite.BuiltinOperator).items() if isinstance(code, int)}


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor; ``value`` where the file holds it as a constant."""

    name: str
    shape: tuple[int, ...]
    value: Array | None


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator; tensors by number, -1 for an optional input that is left out."""

    code: str
    """Name of the built-in operator in capitals, or a custom operator's own name."""
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any]
    """Built-in options as the schema's accessors name them, custom ones as stored in the file."""


@dataclass(frozen=True, slots=True)
class TfliteModel:
    """The first subgraph of a TFLite file."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def read(data: bytes) -> TfliteModel:
    """Read a TFLite file.

    Raises:
        ModelError: the bytes are no TFLite file, or a constant has a type that no converter knows.
    """
    if not tflite.Model.ModelBufferHasIdentifier(data, 0):
        raise ModelError("The data are no TFLite model (its identifier is missing)", "Fetch the model again.")
    model = tflite.Model.GetRootAs(data, 0)
    graph = model.Subgraphs(0)
    return TfliteModel(
        tensors=tuple(_tensor(model, graph.Tensors(i)) for i in range(graph.TensorsLength())),
        operators=tuple(_operator(model, graph.Operators(i)) for i in range(graph.OperatorsLength())),
        inputs=tuple(graph.Inputs(i) for i in range(graph.InputsLength())),
        outputs=tuple(graph.Outputs(i) for i in range(graph.OutputsLength())),
    )


def _tensor(model: Any, tensor: Any) -> Tensor:  # noqa: ANN401 - flatbuffers tables have no types
    shape = tuple(int(tensor.Shape(i)) for i in range(tensor.ShapeLength()))
    name = tensor.Name().decode()
    buffer = model.Buffers(tensor.Buffer())
    if not buffer.DataLength():
        return Tensor(name, shape, None)
    if tensor.Type() not in _TYPES or tensor.Sparsity() is not None:
        raise ModelError(
            f"Tensor {name!r} of the TFLite model is sparse or of an unknown type ({tensor.Type()})", REPORT
        )
    value = np.frombuffer(buffer.DataAsNumpy().tobytes(), _TYPES[tensor.Type()]).reshape(shape)
    return Tensor(name, shape, value)


def _operator(model: Any, operator: Any) -> Operator:  # noqa: ANN401 - flatbuffers tables have no types
    code = model.OperatorCodes(operator.OpcodeIndex())
    # Files older than the 32-bit field keep the number in the 8-bit one and leave the other at 0.
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    custom = number == tflite.BuiltinOperator.CUSTOM
    name = code.CustomCode().decode() if custom else _BUILTIN_NAMES[number]
    return Operator(
        code=name,
        inputs=tuple(operator.Inputs(i) for i in range(operator.InputsLength())),
        outputs=tuple(operator.Outputs(i) for i in range(operator.OutputsLength())),
        options=_custom_options(operator) if custom else _builtin_options(name, operator),
    )


def _custom_options(operator: Any) -> Mapping[str, Any]:  # noqa: ANN401
    if not operator.CustomOptionsLength():
        return {}
    loaded = flexbuffers.Loads(operator.CustomOptionsAsNumpy().tobytes())
    return loaded if isinstance(loaded, dict) else {}


def _builtin_options(name: str, operator: Any) -> Mapping[str, Any]:  # noqa: ANN401
    table = operator.BuiltinOptions()
    if name not in _OPTIONS:
        return {}
    kind, fields = _OPTIONS[name]
    options = kind()
    if table is None:
        raise ModelError(f"Operator {name} of the TFLite model lacks its options", "Fetch the model again.")
    options.Init(table.Bytes, table.Pos)
    return {field: getattr(options, field)() for field in fields}
