"""A card that behaves as ONNX Runtime documents CUDA, with numbers that can be counted.

What it knows: memory by address with a capacity, copies between host and card, sessions that are run plainly or on
bound memory, and recordings. A recording is made by the first run under a number, belongs to the thread that made it,
reads and writes the addresses that were bound then, does not look at shapes, and fails as soon as another thread uses
the card meanwhile, which fails too. What a run makes for an output is bound from then on, as ONNX Runtime does it.
"""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime

from facefusion.core.values import Tensor

Compute = Callable[[Mapping[str, Any]], Mapping[str, Any]]

OTHERS_RECORD = "CUDA failure 900: operation not permitted when stream is capturing ; GPU=0"
CONTROL_FLOW = (
    "[ONNXRuntimeError] : 1 : FAIL : This session cannot use the graph capture feature as requested by the user as the "
    "model has control flow nodes which can't be supported by CUDAExecutionProvider"
)
NO_MEMORY = (
    "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : "
    "Available memory of {free} is smaller than requested bytes of {wanted}"
)
OTHER_SHAPE = (
    "Error in execution: [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : The output OrtValue provided for output '{name}' "
    "has shape {there} but the computed output shape for this run is {wanted}."
)


def affine(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """y = 3 x + 1."""
    return {"y": (3 * inputs["x"] + 1).astype(inputs["x"].dtype)}


class Card:
    """Memory and what happens to it."""

    def __init__(self, capacity: int = 1 << 30) -> None:
        self.capacity = capacity
        self.lock = threading.RLock()
        self.memory: dict[int, Any] = {}
        self.addresses = itertools.count(0x7F00_0000_0000, 1 << 20)
        self.to_card: list[int] = []
        """Bytes of each copy."""
        self.to_host: list[int] = []
        self.made = 0
        """Pieces of memory that were ever taken."""
        self.recording: int | None = None
        """The thread that records."""
        self.spoilt = False
        self.record_seconds = 0.0
        self.recordings = 0
        self.replays = 0

    @property
    def taken(self) -> int:
        return sum(array.nbytes for array in self.memory.values())

    def touch(self) -> None:
        """Whatever a thread does on the card goes through here."""
        with self.lock:
            if self.recording not in (None, threading.get_ident()):
                self.spoilt = True
                raise RuntimeError(OTHERS_RECORD)

    def place(self, shape: Sequence[int], kind: Any) -> Value:
        self.touch()
        array = np.full(shape, 77, kind)
        with self.lock:
            free = self.capacity - self.taken
            if array.nbytes > free:
                raise RuntimeError(NO_MEMORY.format(free=free, wanted=array.nbytes))
            address = next(self.addresses)
            self.memory[address] = array
            self.made += 1
        return Value(self, address)


class Value:
    """``onnxruntime.OrtValue`` on the card; its memory goes with it."""

    def __init__(self, card: Card, address: int) -> None:
        self.card = card
        self.address = address
        weakref.finalize(self, card.memory.pop, address, None)

    @property
    def array(self) -> Any:
        return self.card.memory[self.address]

    def update_inplace(self, data: Any) -> None:
        self.card.touch()
        assert data.flags.c_contiguous
        if data.nbytes != self.array.nbytes:
            raise RuntimeError("The input size of numpy arrays does not match the size of the OrtValue.")
        self.array[...] = data
        self.card.to_card.append(data.nbytes)


class Binding:
    """``onnxruntime.IOBinding``."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.inputs: dict[str, Value] = {}
        self.outputs: dict[str, Value | None] = {}
        self.given: list[Value] = []

    def bind_ortvalue_input(self, name: str, value: Value) -> None:
        self.inputs[name] = value

    def bind_output(self, name: str, device_type: str, device_id: int) -> None:
        assert device_type == "cuda"
        self.outputs[name] = None

    def bind_ortvalue_output(self, name: str, value: Value) -> None:
        self.outputs[name] = value

    def get_outputs(self) -> list[Value]:
        return self.given

    def copy_outputs_to_cpu(self) -> list[Any]:
        self.session.card.touch()
        self.session.card.to_host += [value.array.nbytes for value in self.given]
        return [value.array.copy() for value in self.given]


class Session:
    """``onnxruntime.InferenceSession`` with the CUDA provider."""

    def __init__(
        self,
        card: Card,
        compute: Compute = affine,
        *,
        records: bool = False,
        fails_to_record: str = "",
        skewed_replay: bool = False,
    ) -> None:
        self.card = card
        self.compute = compute
        self.records = records
        self.fails_to_record = fails_to_record
        self.skewed_replay = skewed_replay
        self.recorded: dict[tuple[int, str], tuple[dict[str, int], dict[str, int]]] = {}
        self.broken = False
        self.threads: set[int] = set()
        self.plain_runs = 0
        card.touch()

    def get_providers(self) -> list[str]:
        return ["CUDAExecutionProvider", "CPUExecutionProvider"]

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name="x", shape=["n", 4], type="tensor(float)")]

    def get_outputs(self) -> list[Any]:
        return [SimpleNamespace(name="y", shape=["n", 4], type="tensor(float)")]

    def io_binding(self) -> Binding:
        return Binding(self)

    def run(self, names: Sequence[str], inputs: Mapping[str, Any], options: Any = None) -> list[Any]:
        self.card.touch()
        self.plain_runs += 1
        outputs = self.compute(inputs)
        return [outputs[name] for name in names]

    def run_with_iobinding(self, binding: Binding, options: Any = None) -> None:
        assert binding.session is self
        self.card.touch()
        if self.broken:
            raise RuntimeError("CUDA failure 901: operation failed due to a previous error during capture ; GPU=0")
        self.threads.add(threading.get_ident())
        number = number_of(options)
        key = threading.get_ident(), number
        if self.records and number != "-1" and key in self.recorded:
            self._replay(*self.recorded[key])
            return
        if self.records and number != "-1":
            self._record(binding, key)
        else:
            self._compute(binding)

    def _compute(self, binding: Binding) -> None:
        outputs = self.compute({name: value.array for name, value in binding.inputs.items()})
        binding.given = []
        for name, result in outputs.items():
            place = binding.outputs[name]
            if place is None:
                place = binding.outputs[name] = self.card.place(result.shape, result.dtype)
            elif place.array.shape != result.shape:
                raise RuntimeError(OTHER_SHAPE.format(name=name, there=place.array.shape, wanted=result.shape))
            place.array[...] = result
            binding.given.append(place)

    def _record(self, binding: Binding, key: tuple[int, str]) -> None:
        self._compute(binding)
        with self.card.lock:
            self.card.recording, self.card.spoilt = threading.get_ident(), False
        time.sleep(self.card.record_seconds)
        with self.card.lock:
            self.card.recording = None
            spoilt = self.card.spoilt
        if self.fails_to_record or spoilt:
            self.broken = True
            raise RuntimeError(self.fails_to_record or OTHERS_RECORD)
        places = {name: value for name, value in binding.outputs.items() if value is not None}
        self.recorded[key] = (
            {name: value.address for name, value in binding.inputs.items()},
            {name: value.address for name, value in places.items()},
        )
        self.card.recordings += 1

    def _replay(self, inputs: Mapping[str, int], outputs: Mapping[str, int]) -> None:
        self.card.replays += 1
        results = self.compute({name: self.card.memory[address] for name, address in inputs.items()})
        for name, address in outputs.items():
            self.card.memory[address][...] = results[name] + (1 if self.skewed_replay else 0)


def number_of(options: Any) -> str:
    try:
        return str(options.get_run_config_entry("gpu_graph_id")) or "0"
    except (AttributeError, RuntimeError):
        return "0"


def install(monkeypatch: Any, card: Card, make: Callable[[Mapping[str, str]], Session]) -> list[Mapping[str, str]]:
    """Put the card in ONNX Runtime's place; returns the options of each session made."""
    made: list[Mapping[str, str]] = []

    real = onnxruntime.InferenceSession

    def session(path: Any, options: Any, providers: Any, enable_fallback: int | None = None) -> Any:
        if enable_fallback is None:  # of the processor's store of memory, which tests before may have opened
            return real(path, options, providers=providers)
        made.append(dict(providers[0][1]))
        return make(made[-1])

    def place(shape: Sequence[int], kind: Any, device_type: str, device_id: int) -> Value:
        assert device_type == "cuda"
        return card.place(shape, kind)

    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    monkeypatch.setattr(onnxruntime, "OrtValue", SimpleNamespace(ortvalue_from_shape_and_type=place))
    return made


def rows(count: int, start: float = 0.0) -> dict[str, Tensor]:
    return {"x": np.arange(count * 4, dtype=np.float32).reshape(count, 4) + np.float32(start)}
