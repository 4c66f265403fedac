"""Occluders and parsers whose answer is plain to see in the crop: small graphs with the families' names and ranks."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from facefusion.catalogue.card import ModelCard

CLASSES = 19
"""Of CelebAMask-HQ."""
STEP = 10
"""Levels of colour between two classes."""
MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)


def card(name: str, family: str, kind: str = "face_occluder", companions: tuple[str, ...] = (), **numbers) -> ModelCard:
    return ModelCard(
        name, kind, family, "GPL-3.0", "test", 2026, "made here", f"{name}.onnx", numbers=numbers, companions=companions
    )


def occluder(
    channel: int = 0,
    side: int | str = 256,
    element: int = TensorProto.FLOAT,
    planar: bool = False,
    batch: int | str = 1,
) -> onnx.ModelProto:
    """Takes twice the level of one channel of its input, less a half, for the face: below 0 and above 1 too."""
    axis = 1 if planar else 3
    shape = [batch, 3, side, side] if planar else [batch, side, side, 3]
    given = [batch, 1, side, side] if planar else [batch, side, side, 1]
    nodes = [
        helper.make_node("Slice", ["input", "first", "last", "axis"], ["level"]),
        helper.make_node("Mul", ["level", "two"], ["twice"]),
        helper.make_node("Sub", ["twice", "half"], ["output"]),
    ]
    whole = {"first": [channel], "last": [channel + 1], "axis": [axis]}
    constants = [numpy_helper.from_array(np.array(value, np.int64), key) for key, value in whole.items()]
    constants += [helper.make_tensor(key, element, [1], [value]) for key, value in (("two", 2.0), ("half", 0.5))]
    return _model("occluder", nodes, ("input", element, shape), {"output": (element, given)}, constants)


def parser(channel: int = 0, side: int | str = 512, batch: int | str = 1) -> onnx.ModelProto:
    """Finds the class ``k`` where one channel (0 is red) has the level ``10 k``; two more outputs, as in its family."""
    scale, shift = 255 * DEVIATION[channel] / STEP, 255 * MEAN[channel] / STEP
    constants = [
        numpy_helper.from_array(np.array([channel], np.int64), "first"),
        numpy_helper.from_array(np.array([channel + 1], np.int64), "last"),
        numpy_helper.from_array(np.array([1], np.int64), "axis"),
        numpy_helper.from_array(np.array([scale], np.float32), "scale"),
        numpy_helper.from_array(np.array([shift], np.float32), "shift"),
        numpy_helper.from_array(np.arange(CLASSES, dtype=np.float32).reshape(1, CLASSES, 1, 1), "classes"),
    ]
    nodes = [
        helper.make_node("Slice", ["input", "first", "last", "axis"], ["level"]),
        helper.make_node("Mul", ["level", "scale"], ["scaled"]),
        helper.make_node("Add", ["scaled", "shift"], ["number"]),
        helper.make_node("Sub", ["number", "classes"], ["gap"]),
        helper.make_node("Mul", ["gap", "gap"], ["distance"]),
        helper.make_node("Neg", ["distance"], ["output"]),
        helper.make_node("Identity", ["distance"], ["output_16"]),
        helper.make_node("Identity", ["gap"], ["output_32"]),
    ]
    given = (TensorProto.FLOAT, [batch, CLASSES, side, side])
    outputs = dict.fromkeys(("output", "output_16", "output_32"), given)
    return _model("parser", nodes, ("input", TensorProto.FLOAT, [batch, 3, side, side]), outputs, constants)


def _model(name, nodes, source, outputs, constants) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info(*source)],
        [helper.make_tensor_value_info(key, *about) for key, about in outputs.items()],
        constants,
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
