from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

from facefusion.core.errors import ModelError
from facefusion.core.stop import StopToken
from facefusion.inference.initializer import last_initializer
from facefusion.inference.interruption import Interruption
from facefusion.inference.pool import InferencePool
from facefusion.inference.runner import PooledGraph
from facefusion.inference.session import ModelFile
from tests.inference.fakes import Heard, execution

MATRIX = np.random.default_rng(1).normal(size=(12, 12)).astype(np.float32)


def saved(folder, *constants, many_nodes=1):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in ("x", "y")]
    chain = ["x", *(f"m{number}" for number in range(many_nodes - 1)), "y"]
    nodes = [helper.make_node("Identity", [one], [other]) for one, other in pairwise(chain)]
    graph = helper.make_graph(nodes, "toy", values[:1], values[1:], list(constants), doc_string="a" * 300)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    model.producer_name = "someone"
    helper.set_model_props(model, {"key": "value"})
    path = folder / "toy.onnx"
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_last_of_several_constants_is_read(tmp_path, dtype):
    others = [numpy_helper.from_array(np.full(size, size, np.float32), f"c{size}") for size in (1, 40, 3000)]
    last = numpy_helper.from_array(MATRIX.astype(dtype), "emap")
    got = last_initializer(saved(tmp_path, *others, last, many_nodes=50))
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, MATRIX.astype(dtype).astype(np.float32))


def test_constants_that_nodes_read_may_stand_behind_it(tmp_path):
    path = saved(tmp_path, numpy_helper.from_array(MATRIX, "emap"))
    model = onnx.load(path)
    for name in ("scale", "inner"):
        model.graph.initializer.append(numpy_helper.from_array(np.ones((1, 4), np.float32), name))
    branches = [
        helper.make_graph(
            [helper.make_node("Identity", [name], [f"{name}_out"])],
            name,
            [],
            [helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, [1, 4])],
        )
        for name in ("scale", "inner")
    ]
    model.graph.initializer.append(numpy_helper.from_array(np.array(True), "yes"))
    model.graph.node.append(
        helper.make_node("If", ["yes"], ["unused"], then_branch=branches[0], else_branch=branches[1])
    )
    onnx.save(model, path)
    np.testing.assert_array_equal(last_initializer(path), MATRIX)


def test_where_nodes_read_all_of_them_it_is_the_last_of_all(tmp_path):
    path = saved(tmp_path, numpy_helper.from_array(MATRIX[:1], "first"), numpy_helper.from_array(MATRIX, "second"))
    model = onnx.load(path)
    model.graph.node.append(helper.make_node("MatMul", ["first", "second"], ["unused"]))
    onnx.save(model, path)
    np.testing.assert_array_equal(last_initializer(path), MATRIX)


def test_values_kept_as_a_list_of_floats_are_read_too(tmp_path):
    listed = helper.make_tensor("emap", TensorProto.FLOAT, (12, 12), MATRIX.ravel().tolist())
    np.testing.assert_array_equal(last_initializer(saved(tmp_path, listed)), MATRIX)


def test_a_pooled_graph_hands_it_out_without_loading(tmp_path):
    path = saved(tmp_path, numpy_helper.from_array(MATRIX, "emap"))
    with InferencePool(execution(), events=Heard()) as pool:
        graph = PooledGraph(pool, ModelFile("toy", path), Interruption(StopToken()))
        np.testing.assert_array_equal(graph.last_initializer(), MATRIX)
        assert pool.counters.loads == 0


def test_a_graph_without_constants_is_refused(tmp_path):
    path = saved(tmp_path)
    with pytest.raises(ModelError) as refused:
        last_initializer(path)
    assert str(refused.value) == (
        f"{path} holds no constant. "
        "It was saved anew and lost what its family needs: delete it and fetch it with force-download, "
        "or bring the right one."
    )


@pytest.mark.parametrize(
    "content", [b"", b"no graph at all, but text of some length", b"\x3a\xff\xff\x03", b"\xff" * 40]
)
def test_what_is_no_graph_is_refused(tmp_path, content):
    path = tmp_path / "broken.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"cannot be read as a graph|holds no constant"):
        last_initializer(path)


def test_a_constant_in_another_file_is_refused(tmp_path):
    path = saved(tmp_path, numpy_helper.from_array(MATRIX, "emap"))
    model = onnx.load(path)
    constant = model.graph.initializer[-1]
    set_external_data(constant, "constants.data", offset=0, length=MATRIX.nbytes)
    constant.ClearField("raw_data")
    path.write_bytes(model.SerializeToString())
    (tmp_path / "constants.data").write_bytes(MATRIX.tobytes())
    with pytest.raises(ModelError) as refused:
        last_initializer(path)
    assert str(refused.value) == (
        f"{path} keeps its last constant in another file. Save the model as one file, or bring the right one."
    )


def test_a_file_cut_short_is_refused(tmp_path):
    path = saved(tmp_path, numpy_helper.from_array(MATRIX, "emap"))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError, match="an entry is longer than what holds it"):
        last_initializer(path)
