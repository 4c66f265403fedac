"""Content models that give the same answer whatever they see, with the names and ranks of their families."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

COUNTING = {"nsfw_1": [[[0.0]] * 4 + [[0.9]]], "nsfw_2": [[1.0, 0.0]], "nsfw_3": [[0.0, 0.0, 9.0, 9.0]]}
"""What each of FaceFusion's gives of a picture that counts."""
PASSING = {"nsfw_1": [[[0.0]] * 4 + [[0.1]]], "nsfw_2": [[0.0, 1.0]], "nsfw_3": [[9.0, 9.0, 0.0, 0.0]]}
SIDES = {"nsfw_1": 640, "nsfw_2": 384, "nsfw_3": 448}


def judge(name: str, *, counts: bool) -> onnx.ModelProto:
    """One of FaceFusion's three."""
    side = SIDES[name]
    return _constant([1, 3, side, side], (COUNTING if counts else PASSING)[name])


def _constant(taken: Sequence[int], answer: object) -> onnx.ModelProto:
    given = np.array(answer, np.float32)
    constants = [numpy_helper.from_array(np.zeros((), np.float32), "zero"), numpy_helper.from_array(given, "answer")]
    nodes = [
        # All of the input has a part in it, or the graph would be made without one.
        helper.make_node("ReduceMean", ["input"], ["mean"], keepdims=0),
        helper.make_node("Mul", ["mean", "zero"], ["nothing"]),
        helper.make_node("Add", ["nothing", "answer"], ["output"]),
    ]
    graph = helper.make_graph(
        nodes,
        "judge",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, list(taken))],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, list(given.shape))],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
