"""Palm detectors and hand readers whose answer is plain to see: small graphs with the families' ranks."""

from __future__ import annotations

import cv2
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from facefusion.catalogue.card import ModelCard
from facefusion.core.values import Size
from facefusion.faces.hands.shape import draw_hand

ANCHORS = 2016
GRIDS = {8: 2, 16: 6}
"""Anchors of each cell, by its side in pixels."""


def card(name: str, family: str) -> ModelCard:
    return ModelCard(name, "hand", family, "Apache-2.0", "test", 2026, "made here", f"{name}.onnx")


def palm_detector(numbers: np.ndarray, channel: int = 0) -> onnx.ModelProto:
    """Finds a palm at every anchor whose cell is bright in one channel (0 is red), and says ``numbers`` of each.

    The logit is 40 times the mean level of the cell, 0..1, less 20.
    """
    nodes = [
        helper.make_node("Transpose", ["input_1"], ["planes"], perm=[0, 3, 1, 2]),
        helper.make_node("Slice", ["planes", "first", "last", "axis"], ["plane"]),
    ]
    for stride in GRIDS:
        nodes += [
            helper.make_node(
                "AveragePool", ["plane"], [f"mean_{stride}"], kernel_shape=[stride, stride], strides=[stride, stride]
            ),
            helper.make_node("Reshape", [f"mean_{stride}", f"column_{stride}"], [f"cells_{stride}"]),
            helper.make_node("Expand", [f"cells_{stride}", f"wide_{stride}"], [f"anchors_{stride}"]),
            helper.make_node("Reshape", [f"anchors_{stride}", f"list_{stride}"], [f"level_{stride}"]),
        ]
    nodes += [
        helper.make_node("Concat", ["level_8", "level_16"], ["level"], axis=1),
        helper.make_node("Mul", ["level", "forty"], ["scaled"]),
        helper.make_node("Sub", ["scaled", "twenty"], ["Identity_1"]),
        helper.make_node("Identity", ["numbers"], ["Identity"]),
    ]
    whole = {"first": [channel], "last": [channel + 1], "axis": [1]}
    for stride, times in GRIDS.items():
        cells = (192 // stride) ** 2
        whole |= {
            f"column_{stride}": [1, cells, 1],
            f"wide_{stride}": [1, cells, times],
            f"list_{stride}": [1, cells * times, 1],
        }
    constants = [numpy_helper.from_array(np.array(value, np.int64), key) for key, value in whole.items()]
    constants += [
        numpy_helper.from_array(np.broadcast_to(numbers, (1, ANCHORS, 18)).astype(np.float32), "numbers"),
        numpy_helper.from_array(np.array([40], np.float32), "forty"),
        numpy_helper.from_array(np.array([20], np.float32), "twenty"),
    ]
    outputs = {"Identity": [1, ANCHORS, 18], "Identity_1": [1, ANCHORS, 1]}
    return _model("palm", nodes, [1, 192, 192, 3], outputs, constants)


def hand_reader(joints: np.ndarray, channel: int = 1) -> onnx.ModelProto:
    """Says the same ``joints`` (21 x 3) of every crop, and is as sure of them as one channel (0 is red) is bright."""
    nodes = [
        helper.make_node("Slice", ["input_1", "first", "last", "axis"], ["plane"]),
        helper.make_node("ReduceMean", ["plane"], ["mean"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Reshape", ["mean", "single"], ["Identity_1"]),
        helper.make_node("Identity", ["joints"], ["Identity"]),
    ]
    whole = {"first": [channel], "last": [channel + 1], "axis": [3], "single": [1, 1]}
    constants = [numpy_helper.from_array(np.array(value, np.int64), key) for key, value in whole.items()]
    constants.append(numpy_helper.from_array(joints.reshape(1, 63).astype(np.float32), "joints"))
    return _model("hand", nodes, [1, 224, 224, 3], {"Identity": [1, 63], "Identity_1": [1, 1]}, constants)


def open_hand() -> np.ndarray:
    """Joints of a hand that fills a crop of 224 pixels, fingers up: 21 x 3, from the crop's edge."""
    joints = np.zeros((21, 3), np.float32)
    joints[0] = (112, 190, 0)
    joints[1:5, :2] = ((80, 175), (58, 155), (44, 135), (32, 118))
    for finger, x in enumerate((82, 104, 126, 146)):
        joints[5 + 4 * finger : 9 + 4 * finger, 0] = x
        joints[5 + 4 * finger : 9 + 4 * finger, 1] = (110, 78, 56, 36)
    return joints


def held_up(x: float, y: float, scale: float, angle: float) -> np.ndarray:
    """The joints of :func:`open_hand` somewhere in a picture, turned clockwise by ``angle`` (radians)."""
    joints = (open_hand() - np.array((112, 112, 0), np.float32)) * np.float32(scale)
    cosine, sine = np.cos(angle), np.sin(angle)
    joints[:, :2] = joints[:, :2] @ np.array(((cosine, sine), (-sine, cosine)), np.float32) + (x, y)
    return joints


def paint(pixels: np.ndarray, joints: np.ndarray, colour: tuple[int, int, int] = (120, 155, 215)) -> np.ndarray:
    """A picture with a hand held before it, shaded towards its edges; real networks take it for one."""
    marks = draw_hand(joints, Size(pixels.shape[1], pixels.shape[0]))
    scale = np.linalg.norm(joints[9] - joints[0]) / 80
    depth = np.clip(cv2.distanceTransform(marks, cv2.DIST_L2, 5) / (8 * scale), 0, 1)[..., None]
    hand = np.array(colour, np.float32) * (0.55 + 0.45 * depth)
    painted = np.where(marks[..., None] > 0, hand, pixels.astype(np.float32))
    return cv2.GaussianBlur(painted, (0, 0), 1).astype(np.uint8)


def _model(name, nodes, shape, outputs, constants) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("input_1", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(key, TensorProto.FLOAT, size) for key, size in outputs.items()],
        constants,
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
