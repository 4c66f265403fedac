"""Block-quantised graphs: the same numbers as the definition gives, in a file that stays small."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from facefusion.catalogue.convert import block_int8
from facefusion.core.errors import ModelError
from tests.catalogue.by_hand import run


def graph(values, scales, zeros, *, axis=1, block=0, as_input=False):
    """``output = input @ dequantised`` with the weight stored in blocks, as OpenCV Zoo's files have it."""
    columns = values.shape[-1]
    attributes = {"axis": axis} | ({"block_size": block} if block else {})
    nodes = [
        helper.make_node("DequantizeLinear", ["w_quantized", "w_scales", "w_zero"], ["w"], **attributes),
        helper.make_node("MatMul", ["input", "w"], ["output"]),
    ]
    constants = [
        numpy_helper.from_array(values, "w_quantized"),
        numpy_helper.from_array(scales, "w_scales"),
        numpy_helper.from_array(zeros, "w_zero"),
    ]
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, values.shape[0]])]
    if as_input:
        inputs.append(helper.make_tensor_value_info("w_before", TensorProto.FLOAT, list(values.shape)))
    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, columns])]
    made = helper.make_graph(nodes, "g", inputs, outputs, constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def weights(model: onnx.ModelProto, rows: int) -> np.ndarray:
    """The dequantised weight, read off row by row."""
    return np.concatenate([run(model, {"input": row[np.newaxis]})["output"] for row in np.eye(rows, dtype=np.float32)])


@pytest.mark.parametrize("zero", [0, 5], ids=["symmetric", "with zero points"])
@pytest.mark.parametrize("columns", [128, 120], ids=["whole blocks", "a cut block"])
def test_blocks_along_an_axis(zero, columns):
    random = np.random.default_rng(5)
    values = random.integers(-128, 128, (16, columns)).astype(np.int8)
    scales = random.uniform(0.001, 0.1, (16, 4)).astype(np.float32)
    zeros = random.integers(-zero, zero + 1, (16, 4)).astype(np.int8)

    result = weights(block_int8.convert(graph(values, scales, zeros, block=32)), 16)

    for row in range(16):
        for column in range(columns):
            block = column // 32
            expected = (np.float32(values[row, column]) - zeros[row, block]) * scales[row, block]
            assert result[row, column] == np.float32(expected)


def test_one_scale_per_index_of_an_axis():
    values = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)
    scales, zeros = np.array([1, 2, 4], np.float32), np.array([0, 1, -1], np.int8)

    result = weights(block_int8.convert(graph(values, scales, zeros, axis=0)), 3)

    np.testing.assert_array_equal(result, (values.astype(np.float32) - zeros[:, None]) * scales[:, None])


def test_one_scale_for_all():
    values = np.arange(-6, 6, dtype=np.int8).reshape(3, 4)

    result = weights(block_int8.convert(graph(values, np.array(0.5, np.float32), np.array(2, np.int8))), 3)

    np.testing.assert_array_equal(result, (values.astype(np.float32) - 2) * 0.5)


def test_large_weights_stay_int8_and_are_folded_at_load():
    values = np.random.default_rng(1).integers(-128, 128, (64, 256)).astype(np.int8)
    scales = np.ones((64, 4), np.float32)

    model = block_int8.convert(graph(values, scales, np.zeros((64, 4), np.int8), block=64))

    assert values.nbytes < len(model.SerializeToString()) < values.nbytes * 1.25
    assert not {node.op_type for node in model.graph.node} & {"DequantizeLinear", "Sub"}


def test_weights_listed_as_inputs_are_not_asked_for():
    values, scales = np.ones((2, 2), np.int8), np.ones((2, 1), np.float32)

    model = block_int8.convert(graph(values, scales, np.zeros((2, 1), np.int8), block=2, as_input=True))

    assert [value.name for value in model.graph.input] == ["input"]


def test_a_value_that_is_computed_cannot_be_dequantised():
    data = graph(np.ones((2, 2), np.int8), np.ones((2, 1), np.float32), np.zeros((2, 1), np.int8), block=2)
    model = onnx.load_model_from_string(data)
    del model.graph.initializer[0]

    with pytest.raises(ModelError, match="DequantizeLinear of 'w_quantized' works on no constant"):
        block_int8.convert(model.SerializeToString())


def test_other_bytes_are_refused():
    with pytest.raises(ModelError, match="no ONNX model"):
        block_int8.convert(b"\xff\xff\xff not protobuf")


def test_the_real_detector_takes_any_size(model_path: Callable[[str], Path]):
    data = model_path("yunet").read_bytes()

    for height, width in ((96, 160), (320, 320)):
        outputs = run(data, {"input": np.full((1, 3, height, width), 90, np.float32)})
        for stride in (8, 16, 32):
            cells = height * width // stride**2
            assert outputs[f"cls_{stride}"].shape == (1, cells, 1)
            assert outputs[f"kps_{stride}"].shape == (1, cells, 10)
            score = np.sqrt(outputs[f"cls_{stride}"] * outputs[f"obj_{stride}"])
            assert score.max() < 0.3  # there is no face in plain grey


def test_the_real_recogniser_gives_the_numbers_of_its_unpacked_weights(model_path: Callable[[str], Path]):
    """Numbers of a graph with all weights written out as float32, made separately; plain grey goes in."""
    model = onnx.load(model_path("sface"))

    embedding = run(model, {"data": np.full((1, 3, 112, 112), 127.5, np.float32)})["fc1"]

    assert [value.name for value in model.graph.input] == ["data"]
    assert embedding.shape == (1, 128)
    np.testing.assert_allclose(embedding[0, :4], [-0.10918, -0.00118, 0.09668, -0.16966], atol=2e-4)
