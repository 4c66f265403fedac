"""Graphs with the signatures of the recogniser and the classifier, and plain answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto

from facefusion.catalogue.convert.builder import GraphBuilder

PROJECTION = np.random.default_rng(5).standard_normal((192, 512)).astype(np.float32)
"""From 8 x 8 patches of red, then green, then blue, to an identity."""


def arcface(*, batch: int | str = 1, half: bool = False) -> onnx.ModelProto:
    """The means of 14 x 14 patches times ``PROJECTION``."""
    build = GraphBuilder("arcface")
    values = build.add("Cast", "input", to=TensorProto.FLOAT)
    patches = build.add("AveragePool", values, kernel_shape=[14, 14], strides=[14, 14])
    embedding = build.add("MatMul", build.add("Flatten", patches), build.constant(PROJECTION))
    build.add("Cast", embedding, output="embedding", to=TensorProto.FLOAT16 if half else TensorProto.FLOAT)
    model = build.model({"input": (batch, 3, 112, 112)}, {"embedding": (batch, 512)})
    return _typed(model, dict.fromkeys(("input", "embedding"), TensorProto.FLOAT16)) if half else model


def fairface(classes: Sequence[int] | None = None) -> onnx.ModelProto:
    """Class numbers of group, gender and age: those given, or the middle's red / 32, green / 128 and blue / 24."""
    build = GraphBuilder("fairface")
    middle = build.add(
        "Slice", "input", *(build.constant(bounds, np.int64) for bounds in ([96, 96], [128, 128], [2, 3]))
    )
    means = build.add("ReduceMean", middle, axes=[2, 3], keepdims=0)
    spread = build.add("Mul", means, build.constant([[0.229 * 255, 0.224 * 255, 0.225 * 255]]))
    levels = build.add("Add", spread, build.constant([[0.485 * 255, 0.456 * 255, 0.406 * 255]]))
    numbers = build.add("Floor", build.add("Div", levels, build.constant([[32.0, 128.0, 24.0]])))
    if classes is not None:
        numbers = build.add("Add", build.add("Mul", numbers, build.constant(0.0)), build.constant([list(classes)]))
    names = ("race_id", "gender_id", "age_id")
    for index, name in enumerate(names):
        build.add("Cast", build.columns(numbers, index, index + 1), output=name, to=TensorProto.INT64)
    model = build.model({"input": (1, 3, 224, 224)}, dict.fromkeys(names, (1, 1)))
    return _typed(model, dict.fromkeys(names, TensorProto.INT64))


def _typed(model: onnx.ModelProto, types: Mapping[str, int]) -> onnx.ModelProto:
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = types.get(value.name, TensorProto.FLOAT)
    return model
