"""The attention mesh with its refined parts put in place: one graph from picture to 478 landmarks."""

from __future__ import annotations

import numpy as np
import onnx

from facefusion.catalogue.convert import attention, tflite, tflite_file
from facefusion.catalogue.convert.builder import GraphBuilder
from facefusion.core.errors import ModelError

_BASE = 468
_IRIS = 5
_PARTS = ("output_lips", "output_left_eye", "output_right_eye")
"""In the order of the model's ``Landmarks2TransformMatrix`` operators, whose subsets say which points they refine."""
_IRISES = ("output_left_iris", "output_right_iris")
_SIZE = 192


def convert(data: bytes) -> onnx.ModelProto:
    """Convert MediaPipe's ``face_landmark_with_attention.tflite``.

    Input ``input`` (1, 192, 192, 3), RGB 0..1. Outputs ``landmarks`` (1, 478, 3) in pixels of the crop, and
    ``presence`` (1, 1), the probability that there is a face. x and y of lips and eyes are the refined ones, their z
    that of the base mesh. The irises follow as 468..472 (eye of point 33) and 473..477 (eye of point 263), at the mean
    z of their eye.

    Raises:
        ModelError: the file is damaged or another model.
    """
    model = tflite_file.read(data)
    subsets = [
        attention.MatrixOptions.read(operator.options).subset
        for operator in model.operators
        if operator.code == "Landmarks2TransformMatrix"
    ]
    if len(subsets) != len(_PARTS) or len(model.inputs) != 1:
        raise ModelError("The TFLite model is not the face mesh with attention", "Fetch the model again.")
    graph = GraphBuilder("face_mesh")
    source = model.tensors[model.inputs[0]]
    graph.add("Identity", "input", output=source.name)
    outputs = tflite.lower(model, graph)
    _landmarks(graph, outputs, subsets)
    graph.add("Sigmoid", graph.reshape(outputs["conv_faceflag"], (1, 1)), output="presence")
    return graph.model({"input": (1, _SIZE, _SIZE, 3)}, {"landmarks": (1, _BASE + 2 * _IRIS, 3), "presence": (1, 1)})


def _landmarks(graph: GraphBuilder, outputs: dict[str, str], subsets: list[tuple[int, ...]]) -> None:
    base = graph.reshape(outputs["output_mesh_identity"], (_BASE, 3))
    mesh = base
    for part, subset in zip(_PARTS, subsets, strict=True):
        refined = graph.reshape(outputs[part], (len(subset), 2))
        places = np.stack(np.broadcast_arrays(np.reshape(subset, (-1, 1)), [0, 1]), axis=-1)
        mesh = graph.add("ScatterND", mesh, graph.constant(places, np.int64), refined)
    irises = [_iris(graph, base, outputs[iris], subset) for iris, subset in zip(_IRISES, subsets[1:], strict=True)]
    graph.add(
        "Unsqueeze", graph.add("Concat", mesh, *irises, axis=0), graph.constant([0], np.int64), output="landmarks"
    )


def _iris(graph: GraphBuilder, base: str, points: str, eye: tuple[int, ...]) -> str:
    depths = graph.columns(graph.add("Gather", base, graph.constant(eye, np.int64), axis=0), 2, 3)
    depth = graph.add("ReduceMean", depths, axes=(0,), keepdims=1)
    spread = graph.add("Expand", depth, graph.constant((_IRIS, 1), np.int64))
    return graph.add("Concat", graph.reshape(points, (_IRIS, 2)), spread, axis=1)
