"""Graphs that no program makes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

OPSET = 17
OWN = "own"
"""Domain of a graph's own functions."""
OPSETS = [helper.make_opsetid(*each) for each in (("", OPSET), ("com.microsoft", 1), (OWN, 1))]
ADD = helper.make_node("Add", ["x", "w"], ["y"])


def saved(
    path: Path,
    nodes: Iterable[onnx.NodeProto],
    constants: Iterable[TensorProto] = (),
    functions: Iterable[onnx.FunctionProto] = (),
) -> Path:
    """A graph that takes four numbers and gives some."""
    taken = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    given = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(list(nodes), "graph", [taken], [given], list(constants))
    model = helper.make_model(graph, functions=list(functions), opset_imports=OPSETS, ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def constant(name: str, value: object) -> TensorProto:
    return onnx.numpy_helper.from_array(np.asarray(value), name)


def claimed(*sizes: int) -> TensorProto:
    """A constant of four bytes that says it is larger."""
    return TensorProto(name="w", data_type=TensorProto.FLOAT, dims=sizes, raw_data=b"\0\0\0\0")


def elsewhere(location: str, offset: int = 0) -> TensorProto:
    """A constant of four numbers that lie in another file."""
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", str(offset)), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    return tensor


def sum_of(*nodes: onnx.NodeProto) -> list[onnx.NodeProto]:
    """What nodes give as ``large``, in a result that has to be worked out."""
    reduced = helper.make_node("ReduceSum", ["large"], ["w"], keepdims=0)
    return [*nodes, reduced, ADD]


def doubling(layers: int) -> list[onnx.FunctionProto]:
    """Functions each of which uses the one before twice."""
    functions = []
    for number in range(layers):
        operator, domain = (f"F{number - 1}", OWN) if number else ("Relu", "")
        nodes = [helper.make_node(operator, [a], [b], domain=domain) for a, b in (("a", "b"), ("b", "c"))]
        functions.append(helper.make_function(OWN, f"F{number}", ["a"], ["c"], nodes, OPSETS))
    return functions


def within_itself() -> onnx.FunctionProto:
    node = helper.make_node("F", ["a"], ["b"], domain=OWN)
    return helper.make_function(OWN, "F", ["a"], ["b"], [node], OPSETS)


def compiled(location: str) -> onnx.NodeProto:
    """A node that holds what TensorRT compiled."""
    node = helper.make_node("EPContext", ["x"], ["y"], domain="com.microsoft", embed_mode=0)
    words = {"ep_cache_context": location, "source": "TensorrtExecutionProvider"}
    node.attribute.extend(helper.make_attribute(name, value) for name, value in words.items())
    return node


def hidden(node: onnx.NodeProto) -> list[onnx.NodeProto]:
    """A node in both branches of a choice."""
    given = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    branches = [helper.make_graph([node], name, [], [given]) for name in ("then", "else")]
    return [helper.make_node("If", ["choice"], ["y"], then_branch=branches[0], else_branch=branches[1])]


def entry(field: int, body: bytes) -> bytes:
    """A delimited entry of Protocol Buffers."""
    length, digits = len(body), b""
    while length > 0x7F:
        digits += bytes([length & 0x7F | 0x80])
        length >>= 7
    return bytes([field << 3 | 2]) + digits + bytes([length]) + body


def nested(depth: int) -> bytes:
    """A graph within a node within a graph, and so on."""
    body = b""
    for _ in range(depth):
        body = entry(1, entry(5, entry(6, body)))
    return b"\x08\x08" + entry(7, body)
