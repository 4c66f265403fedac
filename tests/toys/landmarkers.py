"""Graphs with the signatures of the 68-point landmarkers, which find dots of pure colours.

Point ``i`` is the middle of the blue, green or red light that is brighter than :data:`DIM`, by ``i % 3``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSETS = [helper.make_opsetid("", 17)]
SIDE = 256
DIM = 0.5
CELL = 4.0
"""Pixels per unit of the points."""


def _lights(batch: int | str) -> tuple[list[onnx.ValueInfoProto], list[onnx.NodeProto], list[onnx.TensorProto]]:
    """From ``input`` to ``x`` and ``y`` of the 68 points, (n, 68), in cells."""
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, [batch, 3, SIDE, SIDE])]
    columns, rows = np.meshgrid(np.arange(SIDE, dtype=np.float32), np.arange(SIDE, dtype=np.float32))
    constants = [
        numpy_helper.from_array(columns[None, None] / np.float32(CELL), "columns"),
        numpy_helper.from_array(rows[None, None] / np.float32(CELL), "rows"),
        numpy_helper.from_array(np.arange(68) % 3, "colours"),
        numpy_helper.from_array(np.array(1e-6, np.float32), "least"),
    ]
    constants.append(numpy_helper.from_array(np.array(DIM, np.float32), "dim"))
    nodes = [
        helper.make_node("Sub", ["input", "dim"], ["over"]),
        helper.make_node("Relu", ["over"], ["lights"]),
        helper.make_node("ReduceSum", ["lights", "axes"], ["dark"], keepdims=0),
        helper.make_node("Add", ["dark", "least"], ["light"]),
    ]
    constants.append(numpy_helper.from_array(np.array([2, 3]), "axes"))
    for place, axis in (("columns", "x"), ("rows", "y")):
        nodes += [
            helper.make_node("Mul", ["lights", place], [f"{axis}_spread"]),
            helper.make_node("ReduceSum", [f"{axis}_spread", "axes"], [f"{axis}_sum"], keepdims=0),
            helper.make_node("Div", [f"{axis}_sum", "light"], [f"{axis}_middle"]),
            helper.make_node("Gather", [f"{axis}_middle", "colours"], [axis], axis=1),
        ]
    return inputs, nodes, constants


def _model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: dict[str, Sequence[int | str]],
    constants: list[onnx.TensorProto],
) -> onnx.ModelProto:
    declared = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in outputs.items()]
    return helper.make_model(
        helper.make_graph(nodes, "landmarker", inputs, declared, constants), ir_version=8, opset_imports=OPSETS
    )


def fan(peak: float = 0.9, batch: int | str = 1, columns: int = 3) -> onnx.ModelProto:
    """Points of two or three columns, and heat maps whose maxima are ``peak`` on the mean."""
    inputs, nodes, constants = _lights(batch)
    heat = np.full((1, 68, 8, 8), -1.0, np.float32)
    heat[0, np.arange(68), np.arange(68) % 8, 3] = peak + np.linspace(-0.05, 0.05, 68)
    constants += [
        numpy_helper.from_array(heat, "heat"),
        numpy_helper.from_array(np.array(0, np.float32), "zero"),
        numpy_helper.from_array(np.array([2]), "last"),
        numpy_helper.from_array(np.array([1, 2, 3]), "others"),
    ]
    nodes += [helper.make_node("Unsqueeze", [axis, "last"], [f"{axis}_column"]) for axis in ("x", "y")]
    names = ["x_column", "y_column", "x_column"][:columns]
    nodes += [
        helper.make_node("Concat", names, ["points"], axis=2),
        # Heat maps for each picture of the batch.
        helper.make_node("ReduceMax", ["input"], ["brightest"], axes=[1, 2, 3], keepdims=1),
        helper.make_node("Mul", ["brightest", "zero"], ["nothing"]),
        helper.make_node("Add", ["heat", "nothing"], ["maps"]),
    ]
    return _model(nodes, inputs, {"points": [batch, 68, columns], "maps": [batch, 68, 8, 8]}, constants)


def peppa_wutz(score: float = 0.95, batch: int | str = 1, *, flat: bool = True, count: int = 68) -> onnx.ModelProto:
    """Triples of x, y and a score that is ``score`` on the mean; as one row of numbers where ``flat``."""
    inputs, nodes, constants = _lights(batch)
    scores = (score + np.linspace(-0.04, 0.04, 68)).astype(np.float32)[None]
    constants += [
        numpy_helper.from_array(scores, "scores"),
        numpy_helper.from_array(np.array(0, np.float32), "zero"),
        numpy_helper.from_array(np.array([2]), "last"),
        numpy_helper.from_array(np.array([-1, count * 3] if flat else [-1, count, 3]), "shape"),
        numpy_helper.from_array(np.arange(count), "kept"),
    ]
    nodes += [
        helper.make_node("Mul", ["x", "zero"], ["nothing"]),
        helper.make_node("Add", ["nothing", "scores"], ["score"]),
        *(helper.make_node("Unsqueeze", [axis, "last"], [f"{axis}_column"]) for axis in ("x", "y", "score")),
        helper.make_node("Concat", ["x_column", "y_column", "score_column"], ["triples"], axis=2),
        helper.make_node("Gather", ["triples", "kept"], ["some"], axis=1),
        helper.make_node("Reshape", ["some", "shape"], ["output"]),
    ]
    return _model(nodes, inputs, {"output": [batch, count * 3] if flat else [batch, count, 3]}, constants)


def estimator(weights: np.ndarray, batch: int | str = 1) -> onnx.ModelProto:
    """Each of 68 points as a weighted sum, (68, 5), of the five."""
    constants = [numpy_helper.from_array(weights.astype(np.float32), "weights")]
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, [batch, 5, 2])]
    return _model(
        [helper.make_node("MatMul", ["weights", "input"], ["points"])], inputs, {"points": [batch, 68, 2]}, constants
    )
