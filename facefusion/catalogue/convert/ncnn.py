"""ncnn to ONNX.

An ncnn model is a text file with one layer a line (type, name, numbers of inputs and outputs, their names, parameters
as ``key=value``) and a binary file with the weights in the order of the layers. The parameters' keys are numbers whose
meaning depends on the layer.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from facefusion.catalogue.convert.builder import Array, GraphBuilder
from facefusion.catalogue.convert.unsupported import REPORT
from facefusion.core.errors import ModelError

_INPUT = "input"
_MAGIC = "7767517"
_HALF = 0x01306B47
"""Flag before weights stored in half precision; 0 stands for float32."""
_ARRAY_KEY = -23300
"""Keys from here down hold arrays: their number is how far below, their first value the length."""


def convert(param: bytes, weights: bytes) -> onnx.ModelProto:
    """Convert a network from one picture to one picture.

    Input ``input`` (1, C, H, W) and output ``output``, float32, with H and W free. Half-precision weights stay half in
    the file.

    Raises:
        ModelError: damaged files, weights left over or missing, or a layer that this converter does not know.
    """
    layers = _layers(param)
    lowering = _Lowering(GraphBuilder("ncnn"), _Weights(weights))
    for layer in layers:
        if layer.kind not in _LOWERED:
            raise ModelError(f"The ncnn model has a layer that is not supported: {layer.kind} {layer.name!r}", REPORT)
        _LOWERED[layer.kind](lowering, layer)
    lowering.weights.finish()
    graph = lowering.graph
    graph.add("Identity", lowering.values[layers[-1].outputs[0]], output="output")
    return graph.model(
        {_INPUT: (1, lowering.channels, "height", "width")}, {"output": (1, "out_channels", "out_height", "out_width")}
    )


@dataclass(frozen=True, slots=True)
class _Layer:
    kind: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    numbers: Mapping[int, float]
    arrays: Mapping[int, tuple[float, ...]]

    def whole(self, key: int, default: int = 0) -> int:
        return int(self.numbers.get(key, default))


def _layers(param: bytes) -> list[_Layer]:
    try:
        magic, counts, *lines = [line for line in param.decode("ascii").splitlines() if line.strip()]
        if magic.strip() != _MAGIC:
            raise ValueError(f"starts with {magic[:20]!r}")
        layers = [_layer(line.split()) for line in lines]
        expected = int(counts.split()[0])
        if len(layers) != expected:
            raise ValueError(f"{len(layers)} layers where {expected} are announced")
    except ValueError as error:
        raise ModelError(f"The data are no ncnn parameter file: {error}", "Fetch the model again.") from error
    return layers


def _layer(words: list[str]) -> _Layer:
    kind, name, inputs, outputs, *rest = words
    first, last = int(inputs), int(inputs) + int(outputs)
    numbers: dict[int, float] = {}
    arrays: dict[int, tuple[float, ...]] = {}
    for pair in rest[last:]:
        key, value = pair.split("=")
        if int(key) <= _ARRAY_KEY:
            arrays[_ARRAY_KEY - int(key)] = tuple(float(number) for number in value.split(",")[1:])
        else:
            numbers[int(key)] = float(value)
    return _Layer(kind, name, tuple(rest[:first]), tuple(rest[first:last]), numbers, arrays)


class _Weights:
    """The binary file, read from front to back."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def flagged(self, count: int) -> Array:
        """Weights behind a flag that says how they are stored; half-precision ones are padded to whole words."""
        (flag,) = struct.unpack("<I", self._take(4))
        if flag == _HALF:
            return np.frombuffer(self._take((count * 2 + 3) // 4 * 4), "<f2", count)
        if flag == 0:
            return self.plain(count)
        raise ModelError(f"The ncnn model stores weights in an unknown way (flag {flag:#010x})", REPORT)

    def plain(self, count: int) -> Array:
        """Float32 numbers without a flag, as biases and slopes are."""
        return np.frombuffer(self._take(count * 4), "<f4", count)

    def finish(self) -> None:
        """Every byte must have been used."""
        if self._place != len(self._data):
            raise ModelError(
                f"The ncnn model uses {self._place} of {len(self._data)} bytes of weights",
                "Parameter and weight file do not belong together.",
            )

    def _take(self, length: int) -> bytes:
        part = self._data[self._place : self._place + length]
        if len(part) < length:
            raise ModelError(
                f"The ncnn model needs more than its {len(self._data)} bytes of weights", "Fetch the model again."
            )
        self._place += length
        return part


class _Lowering:
    """Which value of the ONNX graph holds which ncnn blob."""

    def __init__(self, graph: GraphBuilder, weights: _Weights) -> None:
        self.graph = graph
        self.weights = weights
        self.values: dict[str, str] = {}
        self.channels: int | str = "channels"
        """Of the picture that goes in, as the layer that takes it knows it."""

    def inputs(self, layer: _Layer) -> list[str]:
        return [self.values[name] for name in layer.inputs]

    def put(self, layer: _Layer, value: str) -> None:
        for name in layer.outputs:
            self.values[name] = value

    def activated(self, value: str, layer: _Layer) -> str:
        kind = layer.whole(9)
        if kind == 0:
            return value
        if kind == 1:
            return self.graph.add("Relu", value)
        if kind == 2:
            return self.graph.add("LeakyRelu", value, alpha=layer.arrays[10][0])
        if kind == 4:
            return self.graph.add("Sigmoid", value)
        raise ModelError(
            f"Layer {layer.name!r} of the ncnn model has an activation that is not supported: {kind}", REPORT
        )


def _input(lowering: _Lowering, layer: _Layer) -> None:
    lowering.put(layer, _INPUT)


def _split(lowering: _Lowering, layer: _Layer) -> None:
    lowering.put(layer, lowering.inputs(layer)[0])


def _convolution(lowering: _Lowering, layer: _Layer) -> None:
    """Keys: 0 channels out, 1/11 kernel, 2/12 dilation, 3/13 stride, 4/14 padding, 5 bias, 6 number of weights."""
    channels, width = layer.whole(0), layer.whole(1)
    height = layer.whole(11, width)
    stride, dilation, pad = layer.whole(3, 1), layer.whole(2, 1), layer.whole(4)
    pads = (layer.whole(14, pad), pad)
    if min(pads) < 0:
        raise ModelError(f"Layer {layer.name!r} of the ncnn model pads automatically, which is not supported", REPORT)
    kernel = lowering.weights.flagged(layer.whole(6)).reshape(channels, -1, height, width)
    if lowering.inputs(layer) == [_INPUT]:
        lowering.channels = kernel.shape[1]
    deconvolution = layer.kind == "Deconvolution"
    inputs = [*lowering.inputs(layer), lowering.graph.weight(kernel.swapaxes(0, 1) if deconvolution else kernel)]
    if layer.whole(5):
        inputs.append(lowering.graph.constant(lowering.weights.plain(channels)))
    value = lowering.graph.add(
        "ConvTranspose" if deconvolution else "Conv",
        *inputs,
        kernel_shape=(height, width),
        strides=(layer.whole(13, stride), stride),
        dilations=(layer.whole(12, dilation), dilation),
        pads=pads * 2,
    )
    lowering.put(layer, lowering.activated(value, layer))


def _relu(lowering: _Lowering, layer: _Layer) -> None:
    slope = layer.numbers.get(0, 0.0)
    source = lowering.inputs(layer)[0]
    lowering.put(
        layer,
        lowering.graph.add("LeakyRelu", source, alpha=slope) if slope else lowering.graph.add("Relu", source),
    )


def _prelu(lowering: _Lowering, layer: _Layer) -> None:
    slopes = lowering.weights.plain(layer.whole(0)).reshape(-1, 1, 1)
    lowering.put(layer, lowering.graph.add("PRelu", *lowering.inputs(layer), lowering.graph.constant(slopes)))


def _concat(lowering: _Lowering, layer: _Layer) -> None:
    # Blobs have no batch axis, ONNX values do.
    lowering.put(layer, lowering.graph.add("Concat", *lowering.inputs(layer), axis=layer.whole(0) + 1))


def _eltwise(lowering: _Lowering, layer: _Layer) -> None:
    """Key 0: 0 product, 1 sum, 2 maximum; array 1: a factor for each operand of a sum."""
    operation = {0: "Mul", 1: "Add", 2: "Max"}[layer.whole(0)]
    operands = lowering.inputs(layer)
    factors = layer.arrays.get(1, ())
    if operation == "Add" and factors:
        operands = [
            operand if factor == 1 else lowering.graph.add("Mul", operand, lowering.graph.constant(factor))
            for operand, factor in zip(operands, factors, strict=True)
        ]
    value, *rest = operands
    for operand in rest:
        value = lowering.graph.add(operation, value, operand)
    lowering.put(layer, value)


def _binary(lowering: _Lowering, layer: _Layer) -> None:
    """Key 0: 0 add, 1 subtract, 2 multiply, 3 divide; key 1: the second operand is the number of key 2."""
    kinds = {0: "Add", 1: "Sub", 2: "Mul", 3: "Div"}
    if layer.whole(0) not in kinds:
        raise ModelError(f"Layer {layer.name!r} of the ncnn model has an operation that is not supported", REPORT)
    operands = lowering.inputs(layer)
    if layer.whole(1):
        operands.append(lowering.graph.constant(layer.numbers.get(2, 0.0)))
    lowering.put(layer, lowering.graph.add(kinds[layer.whole(0)], *operands))


def _interp(lowering: _Lowering, layer: _Layer) -> None:
    """Key 0: 1 nearest, 2 bilinear; keys 1 and 2: factors for height and width."""
    modes = {
        1: {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
        2: {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
    }
    if layer.whole(0) not in modes or not {1, 2} <= layer.numbers.keys():
        raise ModelError(f"Layer {layer.name!r} of the ncnn model resizes in a way that is not supported", REPORT)
    scales = lowering.graph.constant([1, 1, layer.numbers[1], layer.numbers[2]])
    attributes = modes[layer.whole(0)]
    lowering.put(layer, lowering.graph.add("Resize", lowering.inputs(layer)[0], "", scales, **attributes))


def _pixel_shuffle(lowering: _Lowering, layer: _Layer) -> None:
    """Key 0: factor; key 1: 0 where a channel's pixels lie together, 1 where the channels of a pixel do."""
    mode = "DCR" if layer.whole(1) else "CRD"
    value = lowering.graph.add("DepthToSpace", lowering.inputs(layer)[0], blocksize=layer.whole(0), mode=mode)
    lowering.put(layer, value)


_LOWERED: Mapping[str, Callable[[_Lowering, _Layer], None]] = {
    "BinaryOp": _binary,
    "Concat": _concat,
    "Convolution": _convolution,
    "Deconvolution": _convolution,
    "Eltwise": _eltwise,
    "Input": _input,
    "Interp": _interp,
    "PReLU": _prelu,
    "PixelShuffle": _pixel_shuffle,
    "ReLU": _relu,
    "Split": _split,
}
