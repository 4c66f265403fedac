from __future__ import annotations

import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from facefusion.core.errors import ModelError
from facefusion.core.graph import most_in_a_run
from facefusion.inference.profile import input_shapes, shape_range
from tests.inference.fakes import graph


def test_an_engine_is_for_one_picture_to_as_many_as_go_together():
    assert shape_range({"x": (None, 3, 256, 256)}) == {"x": ((1, 3, 256, 256), (4, 3, 256, 256))}
    assert most_in_a_run(640, 640) == 2
    assert shape_range({"x": (None, 3, 640, 640)}) == {"x": ((1, 3, 640, 640), (2, 3, 640, 640))}


def test_what_goes_along_with_pictures_has_as_many_rows():
    assert shape_range({"target": (None, 3, 640, 640), "source": (None, 512), "weight": (1,)}) == {
        "target": ((1, 3, 640, 640), (2, 3, 640, 640)),
        "source": ((1, 512), (2, 512)),
    }


def test_without_pictures_the_number_of_rows_alone_bounds():
    assert shape_range({"x": (None, 512)}) == {"x": ((1, 512), (4, 512))}


@pytest.mark.parametrize("shape", [(1, 3, None, None), (None, 3, None, 640), (None, None)])
def test_where_more_than_the_number_is_open_nobody_knows(shape):
    assert shape_range({"x": shape, "y": (None, 4)}) == {}


@pytest.mark.parametrize("name", ["input:0", "a,b"])
def test_names_that_cannot_be_written_in_an_option_have_no_range(name):
    assert shape_range({name: (None, 4)}) == {}


def test_known_shapes_need_no_range():
    assert shape_range({"x": (1, 3, 256, 256)}) == {}


def test_shapes_are_read_from_the_file(tmp_path):
    assert input_shapes(graph(tmp_path).path) == {"x": (None, 4)}


def test_constants_that_older_files_list_among_the_inputs_are_none(tmp_path):
    path = graph(tmp_path).path
    model = onnx.load(path)
    model.graph.input.append(helper.make_tensor_value_info("three", TensorProto.FLOAT, [1]))
    onnx.save(model, path)
    assert input_shapes(path) == {"x": (None, 4)}


def test_shapes_are_those_that_onnx_runtime_tells(model_path):
    for name in ("yunet", "face_mesh", "sface"):
        session = onnxruntime.InferenceSession(str(model_path(name)), providers=["CPUExecutionProvider"])
        assert input_shapes(model_path(name)) == {
            entry.name: tuple(size if isinstance(size, int) else None for size in entry.shape)
            for entry in session.get_inputs()
        }


def test_a_file_that_is_no_graph_is_named(tmp_path):
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"\x0f this is no graph")
    with pytest.raises(ModelError) as refused:
        input_shapes(path)
    assert str(refused.value).startswith(f"{path} cannot be read as a graph (")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ModelError, match="No such file"):
        input_shapes(tmp_path / "none.onnx")
