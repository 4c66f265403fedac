"""Stand-ins for graphs, sessions and machines, shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from facefusion.core.graph import GraphSignature, GraphValue, Shape
from facefusion.core.values import Tensor
from facefusion.inference.devices import Gpu
from facefusion.inference.execution import Device, Execution
from facefusion.inference.interruption import RunOptions
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.runtime import Runtime
from facefusion.inference.session import LoadRequest, ModelFile
from facefusion.observability.events import Event

CPU_RUNTIME = Runtime(version="1.31.1", offered=frozenset({"CPUExecutionProvider"}), system="Linux")

CARD = Gpu(
    index=0,
    name="NVIDIA GeForce RTX 4090",
    uuid="GPU-1",
    total_memory=24 << 30,
    free_memory=20 << 30,
    driver_version="580.65",
    cuda_version=(13, 0),
    architecture="Ada Lovelace",
)

GPU_RUNTIME = Runtime(
    version="1.31.1",
    offered=frozenset({"TensorrtExecutionProvider", "CUDAExecutionProvider", "CPUExecutionProvider"}),
    system="Linux",
    cuda_version=(13, 0),
    cuda_driver=True,
    gpus=(CARD,),
    tensorrt_version="10.13.2",
)


class Heard:
    """An event sink that remembers."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)


class FakeSession:
    """Doubles its input; ``work`` is called inside each run."""

    def __init__(
        self, provider: str = "cpu", work: Callable[[], None] = lambda: None, shape: Shape = (1, None)
    ) -> None:
        self.provider = provider
        value = GraphValue(shape, np.dtype(np.float32))
        self.signature = GraphSignature({"x": value}, {"y": value})
        self.shapes_run: list[tuple[int, ...]] = []
        self._work = work

    def run(self, inputs: Mapping[str, Tensor], options: RunOptions | None = None) -> dict[str, Tensor]:
        self._work()
        self.shapes_run.append(inputs["x"].shape)
        return {"y": inputs["x"] * 2}


class FakeLoader:
    """Makes fake sessions and remembers for which model and provider."""

    def __init__(self, make: Callable[[LoadRequest], FakeSession] | None = None) -> None:
        self.loaded: list[tuple[str, str]] = []
        self._make = make or (lambda request: FakeSession(request.providers[0][0].name))

    def __call__(self, request: LoadRequest) -> FakeSession:
        self.loaded.append((request.model.name, request.providers[0][0].name))
        return self._make(request)


def execution(
    *names: str,
    devices: tuple[Device, ...] = (Device(0),),
    memory_limit: int | None = None,
    cache: Path = Path("cache"),
    gate_count: int = 0,
) -> Execution:
    return Execution(
        providers=tuple(PROVIDERS[name] for name in names or ("cpu",)),
        devices=devices,
        runtime=GPU_RUNTIME,
        cache=cache,
        memory_limit=memory_limit,
        gate_count=gate_count,
    )


def file(folder: Path, name: str, size: int = 100) -> ModelFile:
    """A model file of the given size that is no graph."""
    path = folder / f"{name}.onnx"
    path.write_bytes(name.encode() + bytes(size - len(name)))
    return ModelFile(name, path)


def graph(folder: Path, name: str = "affine") -> ModelFile:
    """A real graph: ``y = 3 x + 1`` for rows of four."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])
    constants = [
        helper.make_tensor("three", TensorProto.FLOAT, [1], [3.0]),
        helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0]),
    ]
    nodes = [helper.make_node("Mul", ["x", "three"], ["m"]), helper.make_node("Add", ["m", "one"], ["y"])]
    model = helper.make_model(
        helper.make_graph(nodes, name, [x], [y], constants),
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)],
    )
    path = folder / f"{name}.onnx"
    onnx.save(model, path)
    return ModelFile(name, path)


def endless_graph(folder: Path) -> ModelFile:
    """A real graph that adds one to ``x`` for longer than anybody waits."""
    step = helper.make_graph(
        [
            helper.make_node("Add", ["before", "one"], ["after"]),
            helper.make_node("Identity", ["go_on"], ["goes_on"]),
        ],
        "step",
        [
            helper.make_tensor_value_info("count", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("before", TensorProto.FLOAT, [1]),
        ],
        [
            helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("after", TensorProto.FLOAT, [1]),
        ],
    )
    constants = [
        helper.make_tensor("times", TensorProto.INT64, [], [2**60]),
        helper.make_tensor("begin", TensorProto.BOOL, [], [True]),
        helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0]),
    ]
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Loop", ["times", "begin", "x"], ["y"], body=step)],
            "endless",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
            constants,
        ),
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)],
    )
    path = folder / "endless.onnx"
    onnx.save(model, path)
    return ModelFile("endless", path)
