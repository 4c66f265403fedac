"""Small graphs with the inputs and outputs of swapping networks, whose answers a test can work out."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT_TYPES = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}


def colour_swapper(
    source: tuple[int, ...],
    size: int = 128,
    gain: tuple[float, ...] = (1, 1, 1),
    offset: tuple[float, ...] = (0, 0, 0),
    batch: str | int = 1,
    precision: str = "float32",
    matrix: np.ndarray | None = None,
    mask: bool = False,
) -> onnx.ModelProto:
    """``target`` times ``gain`` plus ``offset``, by channel (red first), whatever ``source`` is.

    Args:
        source: shape of one source.
        size: of the target.
        gain: by channel.
        offset: by channel.
        batch: 1, or a name where the graph takes any number.
        precision: of inputs and outputs.
        matrix: kept as the last constant, read by no node.
        mask: whether a second output is given.
    """
    kind = FLOAT_TYPES[precision]
    dtype = np.dtype(precision)
    constants = [
        numpy_helper.from_array(np.array(values, dtype).reshape(1, 3, 1, 1), name)
        for values, name in ((gain, "gain"), (offset, "offset"), ((0, 0, 0), "nothing"))
    ]
    constants.append(numpy_helper.from_array(np.array([1] * (len(source) + 1)), "one"))
    constants.append(numpy_helper.from_array(np.array([0] * (len(source) + 1)), "begin"))
    constants.append(numpy_helper.from_array(np.array([-1, 1, 1, 1]), "each"))
    axes = list(range(1, len(source) + 1))
    nodes = [
        # The source is read, so that the graph keeps it as an input, and changes nothing.
        helper.make_node("ReduceMean", ["source"], ["mean"], axes=axes, keepdims=1),
        helper.make_node("Reshape", ["mean", "each"], ["flat"]),
        helper.make_node("Mul", ["flat", "nothing"], ["zero"]),
        helper.make_node("Mul", ["target", "gain"], ["scaled"]),
        helper.make_node("Add", ["scaled", "offset"], ["moved"]),
        helper.make_node("Add", ["moved", "zero"], ["output"]),
    ]
    image = [batch, 3, size, size]
    outputs = [helper.make_tensor_value_info("output", kind, image)]
    if mask:
        nodes.append(helper.make_node("ReduceMean", ["target"], ["mask"], axes=[1], keepdims=1))
        outputs.append(helper.make_tensor_value_info("mask", kind, [batch, 1, size, size]))
    if matrix is not None:
        constants.append(numpy_helper.from_array(matrix, "emap"))
    inputs = [
        helper.make_tensor_value_info("target", kind, image),
        helper.make_tensor_value_info("source", kind, [batch, *source]),
    ]
    return _model(nodes, inputs, outputs, constants)


def recogniser(weights: np.ndarray, bias: np.ndarray, batch: int | str = 1) -> onnx.ModelProto:
    """ArcFace's input and output: the mean colour of ``input`` (n, 3, 112, 112) times (3, 512) weights, plus a bias."""
    nodes = [
        helper.make_node("ReduceMean", ["input"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["mean", "weights"], ["product"]),
        helper.make_node("Add", ["product", "bias"], ["embedding"]),
    ]
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, [batch, 3, 112, 112])]
    outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [batch, 512])]
    constants = [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(bias, "bias")]
    return _model(nodes, inputs, outputs, constants)


def identity_converter(weights: np.ndarray) -> onnx.ModelProto:
    """``input`` (1, 512) times a 512 x 512 matrix, with a further dimension in the output."""
    nodes = [
        helper.make_node("MatMul", ["input", "weights"], ["product"]),
        helper.make_node("Unsqueeze", ["product", "first"], ["output"]),
    ]
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 512])]
    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 1, 512])]
    constants = [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(np.array([0]), "first")]
    return _model(nodes, inputs, outputs, constants)


def _model(nodes, inputs, outputs, constants) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "toy", inputs, outputs, constants)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    return model
