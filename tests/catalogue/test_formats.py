"""Renaming, storing as it is, and the check of what comes out."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from facefusion.catalogue.card import GraphFile, Part
from facefusion.catalogue.convert import formats, renamed
from facefusion.core.errors import ModelError
from tests.catalogue.by_hand import run


def plain_graph(operator: str = "Neg") -> bytes:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("a:0", "b")]
    node = helper.make_node(operator, ["a:0"], ["b"])
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def file(kind: str, **options: object) -> GraphFile:
    part = Part(role="graph", sha256="0" * 64, bytes=1, wheel=None, member=None, downloads=())
    return GraphFile(name="toy.onnx", format=kind, options=options, parts=(part,), bytes=1)  # type: ignore[arg-type]


def test_inputs_and_outputs_get_their_new_names():
    data = formats.convert(file("renamed", names={"a:0": "input", "b": "output"}), {"graph": plain_graph()})

    result = run(data, {"input": np.array([1, -2], np.float32)})

    np.testing.assert_array_equal(result["output"], [-1, 2])


@pytest.mark.parametrize("names", [{"nobody": "x"}, {"a:0": "b"}])
def test_a_name_that_is_not_there_or_taken_is_an_error(names):
    with pytest.raises(ModelError, match="cannot be renamed"):
        renamed.convert(plain_graph(), names)


def test_a_finished_graph_is_kept_byte_for_byte():
    data = plain_graph()

    assert formats.convert(file(formats.VERBATIM), {"graph": data}) == data


def test_a_graph_that_is_not_valid_is_refused():
    with pytest.raises(ModelError, match=r"toy\.onnx is no valid graph"):
        formats.convert(file(formats.VERBATIM), {"graph": plain_graph("NoSuchOperator")})
