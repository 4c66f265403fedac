"""What a run of a graph takes, as the script measures it for entries of the catalogue."""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper

from scripts.measure_worker_memory import main

WIDE = 16 << 20
"""Values of 4 bytes: 64 MB."""


def test_what_a_run_takes_is_measured_for_each_run(tmp_path, capsys):
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ["n"]), ("y", []))
    ]
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["square"]),
        helper.make_node("ReduceSum", ["square"], ["y"], keepdims=0),
    ]
    graph = helper.make_graph(nodes, "toy", values[:1], values[1:])
    path = tmp_path / "toy.onnx"
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path)
    main([str(path), "--shape", f"x={WIDE}", "--runs", "2"])
    name, megabytes, *_ = capsys.readouterr().out.split()
    assert name == "toy.onnx"
    assert 60 <= int(megabytes) <= 160
    assert int(megabytes) % 10 == 0
