"""Graphs with the signature of the face restoration networks, and a plain answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSETS = [helper.make_opsetid("", 17)]


def restorer(
    side: int | str,
    *,
    gain: Sequence[float] = (1, 1, 1),
    offset: Sequence[float] = (0, 0, 0),
    batch: int | str = 1,
    dtype: int = TensorProto.FLOAT,
    weight: tuple[int, Sequence[int]] | None = None,
    shrunk: bool = False,
) -> onnx.ModelProto:
    """``output = input * gain + offset``, per channel, red first; times ``weight`` where it has one.

    Args:
        side: of the faces; a name where any.
        gain: see above.
        offset: see above.
        batch: faces in one run; a name where any number.
        dtype: of input and output.
        weight: type and shape of that input.
        shrunk: the result has half the side, of which the graph says nothing.
    """
    shape = [batch, 3, side, side]
    inputs = [helper.make_tensor_value_info("input", dtype, shape)]
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    constants = [
        numpy_helper.from_array(np.array(values, kind).reshape(1, 3, 1, 1), name)
        for name, values in (("gain", gain), ("offset", offset))
    ]
    last = "result" if weight is None else "unweighted"
    nodes = [
        helper.make_node("Mul", ["input", "gain"], ["scaled"]),
        helper.make_node("Add", ["scaled", "offset"], [last]),
    ]
    if weight is not None:
        inputs.append(helper.make_tensor_value_info("weight", weight[0], list(weight[1])))
        nodes.append(helper.make_node("Cast", ["weight"], ["weights"], to=dtype))
        nodes.append(helper.make_node("ReduceMean", ["weights"], ["factor"], keepdims=0))
        nodes.append(helper.make_node("Mul", [last, "factor"], ["result"]))
    if shrunk:
        nodes.append(helper.make_node("AveragePool", ["result"], ["small"], kernel_shape=[2, 2], strides=[2, 2]))
    given = ("small", [batch, 3, "high", "wide"]) if shrunk else ("result", shape)
    outputs = [helper.make_tensor_value_info(given[0], dtype, given[1])]
    return helper.make_model(
        helper.make_graph(nodes, "restorer", inputs, outputs, constants), ir_version=8, opset_imports=OPSETS
    )
