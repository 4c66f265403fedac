"""A graphics card of fixed capacity that is no card: it counts who takes what, and refuses as ONNX Runtime does."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from facefusion.core.graph import GraphSignature, GraphValue
from facefusion.core.values import Tensor
from facefusion.inference.interruption import RunOptions
from facefusion.inference.nvml import CardMemory
from facefusion.inference.session import DeviceMemoryError, LoadRequest, ModelFile, _is_out_of_memory
from facefusion.memory.video import CONTEXT_BYTES, MEBIBYTE

DRIVER_IS_OUT = (
    "CUDA failure 2: out of memory ; GPU=0 ; hostname=host ; file=cuda_allocator.cc ; line=47 ; "
    "expr=cudaMalloc((void**)&p, size);"
)
ARENA_IS_OUT = (
    "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Exception during initialization: bfc_arena.cc:376 void* "
    "onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream*) Available memory of {left} is "
    "smaller than requested bytes of {wanted}"
)


class FakeCard:
    """Holds so many bytes, and not one more.

    Args:
        capacity: bytes of the card.
        tells_own: whether the driver tells processes apart.
        number: of the card.
    """

    def __init__(self, capacity: int, *, tells_own: bool = True, number: int = 0) -> None:
        self.capacity = capacity
        self.uuid = f"GPU-fake-{number}"
        self.number = number
        self.others = 0
        """Bytes that other programs take."""
        self.taken = 0
        self.most = 0
        self.loads: list[str] = []
        self.alive: list[str] = []
        self._tells_own = tells_own
        self._lock = threading.Lock()

    def read(self, uuid: str) -> CardMemory | None:
        if uuid != self.uuid:
            return None
        used = self.others + self.taken
        return CardMemory(self.capacity - used, used, self.taken if self._tells_own else None)

    def take(self, amount: int) -> None:
        with self._lock:
            if self.others + self.taken + amount > self.capacity:
                raise RuntimeError(DRIVER_IS_OUT)
            self.taken += amount
            self.most = max(self.most, self.taken)

    def give_back(self, amount: int) -> None:
        with self._lock:
            self.taken -= amount

    def begin(self, name: str) -> None:
        with self._lock:
            first = not self.loads
            self.loads.append(name)
            self.alive.append(name)
        if first:
            self.take(CONTEXT_BYTES)  # a process never gives it back

    def end(self, session_arena: Arena, name: str) -> None:
        self.give_back(session_arena.taken)
        with self._lock:
            self.alive.remove(name)


class Arena:
    """What one session has taken: it grows as runs need, and keeps what it has."""

    def __init__(self, card: FakeCard, limit: int | None) -> None:
        self.taken = 0
        self._card = card
        self._limit = limit
        self._in_use = 0
        self._lock = threading.Lock()

    def use(self, amount: int) -> None:
        with self._lock:
            more = self._in_use + amount - self.taken
            if more > 0:
                if self._limit is not None and self.taken + more > self._limit:
                    raise RuntimeError(ARENA_IS_OUT.format(left=self._limit - self.taken, wanted=more))
                self._card.take(more)
                self.taken += more
            self._in_use += amount

    def free(self, amount: int) -> None:
        with self._lock:
            self._in_use -= amount


class CardSession:
    """Doubles its input, with the weights and the workspace of its model on a card."""

    def __init__(
        self, card: FakeCard, name: str, weights: int, workspaces: Mapping[str, int], limit: int | None
    ) -> None:
        self.provider = "cuda"
        value = GraphValue((1, 2), np.dtype(np.float32))
        self.signature = GraphSignature({"x": value}, {"y": value})
        self._name = name
        self._workspaces = workspaces
        self._arena = Arena(card, limit)
        card.begin(name)
        weakref.finalize(self, card.end, self._arena, name)
        with out_of_memory(name, "load it"):
            self._arena.use(weights)

    def run(self, inputs: Mapping[str, Tensor], options: RunOptions | None = None) -> dict[str, Tensor]:
        workspace = self._workspaces.get(self._name, 64 * MEBIBYTE)
        with out_of_memory(self._name, "run"):
            self._arena.use(workspace)
        try:
            return {"y": inputs["x"] * 2}
        finally:
            self._arena.free(workspace)


class out_of_memory:  # noqa: N801 - reads as a statement
    """Turns what ONNX Runtime says into this program's error, where it is recognised."""

    def __init__(self, name: str, purpose: str) -> None:
        self._fault = f"{name}: no memory left to {purpose} on cuda"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RuntimeError) and _is_out_of_memory(error):
            raise DeviceMemoryError(self._fault) from error


def loader(*cards: FakeCard, workspaces: Mapping[str, int] | None = None) -> Callable[[LoadRequest], CardSession]:
    """Makes sessions on cards: weights as large as the file, a workspace of 64 MiB where nothing else is said then."""

    def load(request: LoadRequest) -> CardSession:
        options = request.providers[0][1].to_runtime()
        limit = options.get("gpu_mem_limit")
        card = next(card for card in cards if str(card.number) == options["device_id"])
        name = request.model.name
        return CardSession(
            card,
            name,
            request.model.path.stat().st_size,
            {} if workspaces is None else workspaces,
            None if limit is None else int(limit),
        )

    return load


def weights(folder: Path, name: str, megabytes: int) -> ModelFile:
    """A file of so many MiB that takes no space on the disk."""
    path = folder / f"{name}.onnx"
    with path.open("wb") as file:
        file.write(name.encode())
        file.truncate(megabytes * MEBIBYTE)
    return ModelFile(name, path)
