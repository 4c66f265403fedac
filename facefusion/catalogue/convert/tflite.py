"""TFLite to ONNX.

TFLite keeps pictures as batch, height, width, channels; ONNX convolutions want channels first. Rank-4 results of
convolutions and their like therefore stay channels first from node to node, and a transpose appears only where the
order of elements matters: at the graph's input, at reshapes, slices and concatenations, and at outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import tflite

from facefusion.catalogue.convert import attention
from facefusion.catalogue.convert.builder import Array, GraphBuilder
from facefusion.catalogue.convert.tflite_file import Operator, TfliteModel, read
from facefusion.catalogue.convert.unsupported import REPORT
from facefusion.core.errors import ModelError

_TO_CHANNELS_FIRST = (0, 3, 1, 2)
_TO_CHANNELS_LAST = (0, 2, 3, 1)


def convert(data: bytes) -> onnx.ModelProto:
    """Convert a TFLite file. Inputs, outputs and their shapes are the file's, channels last, as float32.

    Raises:
        ModelError: the file is damaged, or has an operator that this converter does not know.
    """
    model = read(data)
    graph = GraphBuilder("tflite")
    outputs = lower(model, graph)
    return graph.model(
        {model.tensors[i].name: model.tensors[i].shape for i in model.inputs},
        {graph.add("Identity", outputs[name], output=name): model.tensors[i].shape for i, name in _named(model)},
    )


def lower(model: TfliteModel, graph: GraphBuilder) -> dict[str, str]:
    """Append the model's operators to ``graph``.

    The graph's inputs are expected under the names that the tensors have in the file. Returns for each output, by its
    name in the file, the value that holds it.
    """
    lowering = _Lowering(model, graph)
    for operator in model.operators:
        if operator.code not in _LOWERED:
            raise ModelError(f"The TFLite model has an operator that is not supported: {operator.code}", REPORT)
        _LOWERED[operator.code](lowering, operator)
    return {name: lowering.plain(i) for i, name in _named(model)}


def same_padding(size: int, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int]:
    """Padding before and after one axis under TensorFlow's ``SAME`` rule, where the odd pixel goes to the end."""
    outputs = -(-size // stride)
    total = max((outputs - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def _named(model: TfliteModel) -> list[tuple[int, str]]:
    return [(i, model.tensors[i].name) for i in model.outputs]


@dataclass(frozen=True, slots=True)
class _Value:
    name: str
    channels_first: bool = False


class _Lowering:
    """Which value of the ONNX graph holds which TFLite tensor, and in which layout."""

    def __init__(self, model: TfliteModel, graph: GraphBuilder) -> None:
        self.graph = graph
        self._tensors = model.tensors
        self._constants = {i: tensor.value for i, tensor in enumerate(model.tensors) if tensor.value is not None}
        self._values = {i: _Value(model.tensors[i].name) for i in model.inputs}
        self._turned: dict[int, str] = {}

    def shape(self, tensor: int) -> tuple[int, ...]:
        return self._tensors[tensor].shape

    def is_constant(self, tensor: int) -> bool:
        return tensor in self._constants

    def constant(self, tensor: int) -> Array:
        if tensor not in self._constants:
            raise ModelError(f"Tensor {self._tensors[tensor].name!r} of the TFLite model should be a constant", REPORT)
        return self._constants[tensor]

    def fold(self, tensor: int, value: Array) -> None:
        self._constants[tensor] = value

    def put(self, tensor: int, name: str, *, channels_first: bool = False) -> None:
        self._values[tensor] = _Value(name, channels_first)

    def alias(self, tensor: int, of: int) -> None:
        self._values[tensor] = self._values[of]

    def plain(self, tensor: int) -> str:
        """The value of a tensor in the file's own layout."""
        return self._in_layout(tensor, channels_first=False)

    def channels_first(self, tensor: int) -> str:
        """The value of a rank-4 tensor as batch, channels, height, width."""
        return self._in_layout(tensor, channels_first=True)

    def _in_layout(self, tensor: int, *, channels_first: bool) -> str:
        if self.is_constant(tensor):
            return self.graph.weight(
                _turned_constant(self.constant(tensor)) if channels_first else self.constant(tensor)
            )
        value = self._values[tensor]
        if value.channels_first == channels_first:
            return value.name
        if tensor not in self._turned:
            order = _TO_CHANNELS_FIRST if channels_first else _TO_CHANNELS_LAST
            self._turned[tensor] = self.graph.add("Transpose", value.name, perm=order)
        return self._turned[tensor]

    def activated(self, value: str, operator: Operator) -> str:
        activation = operator.options["FusedActivationFunction"]
        if activation == tflite.ActivationFunctionType.NONE:
            return value
        if activation == tflite.ActivationFunctionType.RELU:
            return self.graph.add("Relu", value)
        if activation == tflite.ActivationFunctionType.RELU6:
            return self.graph.add("Clip", value, self.graph.constant(0.0), self.graph.constant(6.0))
        raise ModelError(
            f"{operator.code} of the TFLite model has an activation that is not supported: {activation}", REPORT
        )

    def window(self, operator: Operator, kernel: tuple[int, int]) -> dict[str, Any]:
        """Attributes of a sliding window over the operator's first input; ``kernel`` is height and width."""
        options = operator.options
        strides = (options["StrideH"], options["StrideW"])
        dilations = (options.get("DilationHFactor", 1), options.get("DilationWFactor", 1))
        pads = [(0, 0), (0, 0)]
        if options["Padding"] == tflite.Padding.SAME:
            sizes = self.shape(operator.inputs[0])[1:3]
            pads = [same_padding(*axis) for axis in zip(sizes, kernel, strides, dilations, strict=True)]
        (top, bottom), (left, right) = pads
        attributes: dict[str, Any] = {
            "kernel_shape": kernel,
            "strides": strides,
            "pads": (top, left, bottom, right),
        }
        return attributes if dilations == (1, 1) else {**attributes, "dilations": dilations}


def _turned_constant(value: Array) -> Array:
    if value.ndim == 4:
        return value.transpose(_TO_CHANNELS_FIRST)
    if value.ndim in (0, 1):
        return value.reshape(-1, 1, 1)
    if value.ndim == 3:
        return value.transpose(2, 0, 1)
    raise ModelError(f"A constant of rank {value.ndim} of the TFLite model meets a picture", REPORT)


def _dequantize(lowering: _Lowering, operator: Operator) -> None:
    """Half-precision weights arrive through DEQUANTIZE; they stay half in the file."""
    source, target = operator.inputs[0], operator.outputs[0]
    value = lowering.constant(source)
    if value.dtype != np.float16:
        raise ModelError(f"DEQUANTIZE of {value.dtype} in the TFLite model is not supported", REPORT)
    lowering.fold(target, value)


def _convolution(lowering: _Lowering, operator: Operator, *, depthwise: bool = False) -> None:
    source, weights, *rest = operator.inputs
    # Weights are out, height, width, in; those of a depthwise one are 1, height, width, channels.
    kernel = lowering.constant(weights).transpose((3, 0, 1, 2) if depthwise else (0, 3, 1, 2))
    inputs = [lowering.channels_first(source), lowering.graph.weight(kernel)]
    if rest and rest[0] >= 0:
        inputs.append(lowering.graph.weight(lowering.constant(rest[0])))
    attributes = lowering.window(operator, (kernel.shape[2], kernel.shape[3]))
    if depthwise:
        attributes["group"] = lowering.shape(source)[3]
    value = lowering.graph.add("Conv", *inputs, **attributes)
    lowering.put(operator.outputs[0], lowering.activated(value, operator), channels_first=True)


def _depthwise(lowering: _Lowering, operator: Operator) -> None:
    _convolution(lowering, operator, depthwise=True)


def _pool(kind: str, attributes: Mapping[str, Any] = MappingProxyType({})) -> Callable[[_Lowering, Operator], None]:
    def lowered(lowering: _Lowering, operator: Operator) -> None:
        window = lowering.window(operator, (operator.options["FilterHeight"], operator.options["FilterWidth"]))
        value = lowering.graph.add(kind, lowering.channels_first(operator.inputs[0]), **window, **attributes)
        lowering.put(operator.outputs[0], lowering.activated(value, operator), channels_first=True)

    return lowered


def _prelu(lowering: _Lowering, operator: Operator) -> None:
    source, slopes = operator.inputs
    value = lowering.graph.add("PRelu", lowering.channels_first(source), lowering.channels_first(slopes))
    lowering.put(operator.outputs[0], value, channels_first=True)


def _elementwise(kind: str) -> Callable[[_Lowering, Operator], None]:
    def lowered(lowering: _Lowering, operator: Operator) -> None:
        picture = len(lowering.shape(operator.outputs[0])) == 4
        operands = [lowering.channels_first(i) if picture else lowering.plain(i) for i in operator.inputs]
        value = lowering.activated(lowering.graph.add(kind, *operands), operator)
        lowering.put(operator.outputs[0], value, channels_first=picture)

    return lowered


def _mean(lowering: _Lowering, operator: Operator) -> None:
    source, axes = operator.inputs
    value = lowering.graph.add(
        "ReduceMean",
        lowering.plain(source),
        axes=[int(axis) for axis in lowering.constant(axes).ravel()],
        keepdims=int(operator.options["KeepDims"]),
    )
    lowering.put(operator.outputs[0], value)


def _fully_connected(lowering: _Lowering, operator: Operator) -> None:
    """Weights are out, in."""
    source, weights, *rest = operator.inputs
    rows = lowering.graph.reshape(lowering.plain(source), (-1, lowering.shape(weights)[1]))
    inputs = [rows, lowering.graph.weight(lowering.constant(weights))]
    if rest and rest[0] >= 0:
        inputs.append(lowering.graph.weight(lowering.constant(rest[0])))
    value = lowering.activated(lowering.graph.add("Gemm", *inputs, transB=1), operator)
    lowering.put(operator.outputs[0], lowering.graph.reshape(value, lowering.shape(operator.outputs[0])))


def _logistic(lowering: _Lowering, operator: Operator) -> None:
    lowering.put(operator.outputs[0], lowering.graph.add("Sigmoid", lowering.plain(operator.inputs[0])))


def _pad(lowering: _Lowering, operator: Operator) -> None:
    source, amounts = operator.inputs
    pads: npt.NDArray[np.int64] = lowering.constant(amounts).astype(np.int64)[list(_TO_CHANNELS_FIRST)]
    value = lowering.graph.add(
        "Pad", lowering.channels_first(source), lowering.graph.constant(pads.T.ravel(), np.int64)
    )
    lowering.put(operator.outputs[0], value, channels_first=True)


def _reshape(lowering: _Lowering, operator: Operator) -> None:
    source, target = operator.inputs[0], operator.outputs[0]
    lowering.put(target, lowering.graph.reshape(lowering.plain(source), lowering.shape(target)))


def _concatenation(lowering: _Lowering, operator: Operator) -> None:
    value = lowering.graph.add("Concat", *(lowering.plain(i) for i in operator.inputs), axis=operator.options["Axis"])
    lowering.put(operator.outputs[0], lowering.activated(value, operator))


def _strided_slice(lowering: _Lowering, operator: Operator) -> None:
    options = operator.options
    if any(options[mask] for mask in ("EllipsisMask", "NewAxisMask", "ShrinkAxisMask")):
        raise ModelError("STRIDED_SLICE of the TFLite model changes the number of axes, which is not supported", REPORT)
    source = operator.inputs[0]
    begin, end, step = (lowering.constant(i).astype(np.int64).copy() for i in operator.inputs[1:4])
    if (step < 1).any():
        raise ModelError("STRIDED_SLICE of the TFLite model runs backwards, which is not supported", REPORT)
    for axis, size in enumerate(lowering.shape(source)):
        if options["BeginMask"] >> axis & 1:
            begin[axis] = 0
        if options["EndMask"] >> axis & 1:
            end[axis] = size
    bounds = [lowering.graph.constant(b, np.int64) for b in (begin, end, np.arange(len(begin)), step)]
    lowering.put(operator.outputs[0], lowering.graph.add("Slice", lowering.plain(source), *bounds))


def _resize_bilinear(lowering: _Lowering, operator: Operator) -> None:
    options, target = operator.options, operator.outputs[0]
    mode = "align_corners" if options["AlignCorners"] else "half_pixel" if options["HalfPixelCenters"] else "asymmetric"
    batch, height, width, channels = lowering.shape(target)
    sizes = lowering.graph.constant((batch, channels, height, width), np.int64)
    value = lowering.graph.add(
        "Resize",
        lowering.channels_first(operator.inputs[0]),
        "",
        "",
        sizes,
        mode="linear",
        coordinate_transformation_mode=mode,
    )
    lowering.put(target, value, channels_first=True)


def _landmarks_to_matrix(lowering: _Lowering, operator: Operator) -> None:
    source = operator.inputs[0]
    options = attention.MatrixOptions.read(operator.options)
    matrix = attention.landmarks_to_matrix(lowering.graph, lowering.plain(source), lowering.shape(source)[1], options)
    lowering.put(operator.outputs[0], matrix)


def _transform_tensor(lowering: _Lowering, operator: Operator) -> None:
    features, matrix = operator.inputs
    height, width = lowering.shape(features)[1:3]
    out = (operator.options["output_height"], operator.options["output_width"])
    value = attention.transform_tensor(
        lowering.graph, lowering.channels_first(features), lowering.plain(matrix), (height, width), out
    )
    lowering.put(operator.outputs[0], value, channels_first=True)


def _transform_landmarks(lowering: _Lowering, operator: Operator) -> None:
    points, matrix = operator.inputs
    shape = lowering.shape(points)
    lowering.put(
        operator.outputs[0],
        attention.transform_landmarks(lowering.graph, lowering.plain(points), lowering.plain(matrix), shape),
    )


_LOWERED: Mapping[str, Callable[[_Lowering, Operator], None]] = {
    "ADD": _elementwise("Add"),
    "AVERAGE_POOL_2D": _pool("AveragePool", {"count_include_pad": 0}),
    "CONCATENATION": _concatenation,
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _depthwise,
    "DEQUANTIZE": _dequantize,
    "FULLY_CONNECTED": _fully_connected,
    "LOGISTIC": _logistic,
    "MAX_POOL_2D": _pool("MaxPool"),
    "MEAN": _mean,
    "MUL": _elementwise("Mul"),
    "PAD": _pad,
    "PRELU": _prelu,
    "RESHAPE": _reshape,
    "RESIZE_BILINEAR": _resize_bilinear,
    "STRIDED_SLICE": _strided_slice,
    "Landmarks2TransformMatrix": _landmarks_to_matrix,
    "TransformLandmarks": _transform_landmarks,
    "TransformTensorBilinear": _transform_tensor,
}
