"""Memory of a process of its own, since the store is one for the whole process."""

from __future__ import annotations

import json
import subprocess
import sys

import onnx
import pytest
from onnx import TensorProto, helper

TAKEN = """
import json
import sys

import numpy as np
import psutil

from facefusion.inference.arena import shrink_store
from facefusion.inference.execution import Device
from facefusion.inference.session import ModelFile, OrtSession
from facefusion.memory.release import keep_little
from pathlib import Path
from tests.inference.fakes import execution

keep_little()

def taken():
    return psutil.Process().memory_info().rss >> 20

def load():
    model = ModelFile("wide", Path(sys.argv[1]))
    return OrtSession(execution("cpu").requests(model, "ab" * 32, Device(0))[0])

sessions = [load() for _ in range(4)]
said = [taken()]
for session in sessions:
    result = session.run({"x": np.ones(1, np.float32)})["y"]
    said.append(taken())
sessions.clear()
del session
shrink_store()
said.append(taken())
json.dump([float(result[0]), said], sys.stdout)
"""


@pytest.fixture
def wide_graph(tmp_path):
    """y = the sum of -x over 4 Mi copies of x: 32 MB pass between its nodes."""
    nodes = [
        helper.make_node("Expand", ["x", "size"], ["many"]),
        helper.make_node("Neg", ["many"], ["less"]),
        helper.make_node("ReduceSum", ["less"], ["y"], keepdims=1),
    ]
    size = helper.make_tensor("size", TensorProto.INT64, [1], [4 << 20])
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph(nodes, "wide", ends[:1], ends[1:], [size])
    path = tmp_path / "wide.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the allocator may keep what is freed")
def test_sessions_on_the_processor_share_their_scratch_memory_and_give_it_back(wide_graph):
    command = [sys.executable, "-c", TAKEN, str(wide_graph)]
    said = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    result, (loaded, _, second, third, fourth, after) = said
    assert result == -(4 << 20)
    assert second - loaded >= 30
    assert max(third, fourth) - second <= 4, "stores of their own would take 16 to 32 MB each"
    assert fourth - after >= 15
