"""Small graphs with the inputs and outputs of DFM files, whose answers a test can work out."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


def deep_face(
    side: int,
    colour: tuple[float, ...] | None = None,
    masks: tuple[np.ndarray, np.ndarray] | None = None,
    morph: bool = True,
    batch: str | int = "n",
) -> onnx.ModelProto:
    """Gives back ``in_face:0``, mixed by ``morph_value:0`` with one colour (blue first), and two fixed masks.

    Args:
        side: of the face.
        colour: 0..1; none gives the face back.
        masks: side x side each; of ones where not given.
        morph: whether there is such an input.
        batch: 1, or a name where the graph takes any number.
    """
    where = masks or (np.ones((side, side), np.float32), np.ones((side, side), np.float32))
    constants = [
        numpy_helper.from_array(mask.astype(np.float32).reshape(1, side, side, 1), name)
        for mask, name in zip(where, ("first", "second"), strict=True)
    ]
    constants.append(numpy_helper.from_array(np.array(colour or (0, 0, 0), np.float32).reshape(1, 1, 1, 3), "colour"))
    constants.append(numpy_helper.from_array(np.ones(1, np.float32), "one"))
    constants.append(numpy_helper.from_array(np.zeros(1, np.float32), "zero"))
    share = "one" if colour else "zero"
    nodes = []
    if morph:
        nodes.append(helper.make_node("Mul", ["morph_value:0", share], ["share"]))
        share = "share"
    nodes += [
        helper.make_node("Sub", ["colour", "in_face:0"], ["away"]),
        helper.make_node("Mul", ["away", share], ["step"]),
        helper.make_node("Add", ["in_face:0", "step"], ["out_celeb_face:0"]),
        helper.make_node("Mul", ["in_face:0", "zero"], ["nothing"]),
        helper.make_node("ReduceMean", ["nothing"], ["flat"], axes=[3], keepdims=1),
        helper.make_node("Add", ["flat", "first"], ["out_face_mask:0"]),
        helper.make_node("Add", ["flat", "second"], ["out_celeb_face_mask:0"]),
    ]
    face, mask = [batch, side, side, 3], [batch, side, side, 1]
    inputs = [helper.make_tensor_value_info("in_face:0", FLOAT, face)]
    if morph:
        inputs.append(helper.make_tensor_value_info("morph_value:0", FLOAT, [1]))
    outputs = [
        helper.make_tensor_value_info("out_face_mask:0", FLOAT, mask),
        helper.make_tensor_value_info("out_celeb_face:0", FLOAT, face),
        helper.make_tensor_value_info("out_celeb_face_mask:0", FLOAT, mask),
    ]
    graph = helper.make_graph(nodes, "toy", inputs, outputs, constants)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model)
    return model
