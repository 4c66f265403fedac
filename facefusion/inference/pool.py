"""The one place where graphs are loaded, shared and released."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

import numpy as np

from facefusion.core.errors import FaceFusionError, ProviderError
from facefusion.core.values import Tensor
from facefusion.inference.arena import shrink_store
from facefusion.inference.execution import Device, Execution
from facefusion.inference.gate import DeviceGate
from facefusion.inference.idle import IdleTimer
from facefusion.inference.interruption import RunOptions
from facefusion.inference.keys import FileDigests, SessionKey, session_key
from facefusion.inference.session import (
    DeviceMemoryError,
    LoadRequest,
    ModelFile,
    OrtSession,
    Session,
    SessionLoader,
)
from facefusion.inference.tally import RunTally
from facefusion.memory.budget import session_bytes
from facefusion.observability.events import EventSink, ModelLoaded, Notice


class MemoryStrategy(Enum):
    """When sessions are made and released."""

    CONSERVATIVE = "conservative"
    """On demand; whatever no coming stage needs is released."""
    BALANCED = "balanced"
    """On demand; kept until memory or idleness says otherwise."""
    AGGRESSIVE = "aggressive"
    """All at the start; kept until memory or idleness says otherwise."""


@dataclass(frozen=True, slots=True)
class PoolCounters:
    """What a pool has done so far."""

    loads: int = 0
    hits: int = 0
    """Leases on a session that was there already."""
    evictions: int = 0
    """Sessions released: for memory, for idleness, or since no stage needs them."""


@dataclass(slots=True, eq=False)
class _Entry:
    """A place in the pool; its session is made by the first lease and belongs to all that hold one."""

    model: ModelFile
    device: Device
    load_lock: threading.Lock
    bytes: int = 0
    session: Session | None = None
    gate: DeviceGate | None = None
    failure: FaceFusionError | None = None
    leases: int = 0
    last_used: float = 0.0
    doomed: bool = False
    """To be released as soon as its last lease ends."""


class Lease:
    """A session and its device's gate, for as long as the lease lasts.

    The gate is passed for each run, not held for the lease, so that a thread may hold two leases at once.
    """

    __slots__ = ("_gate", "session")

    def __init__(self, session: Session, gate: DeviceGate) -> None:
        self.session = session
        self._gate = gate

    def run(self, inputs: Mapping[str, Tensor], options: RunOptions | None = None) -> dict[str, Tensor]:
        """Wait for the device, run the graph once and return its outputs by name. See :meth:`Session.run`."""
        with self._gate.passage():
            return self.session.run(inputs, options)


class InferencePool:
    """Sessions by key: each is loaded once, however many threads ask, and shared by all of them.

    Thread-safe. Close it, or use it as a context manager; it owns a timer thread.

    Args:
        execution: providers, devices and whatever else sessions are made with.
        events: told about each session made and each provider that failed on a graph.
        strategy: when sessions are made and released.
        idle_seconds: sessions that nothing has used for so long are released; 0 for never.
        gate_count: graphs that may run on a device at once; 0 leaves it to the provider's rule.
        load: makes a session; another function in tests.
        clock: monotonic seconds; another one in tests.
    """

    def __init__(
        self,
        execution: Execution,
        *,
        events: EventSink,
        strategy: MemoryStrategy = MemoryStrategy.BALANCED,
        idle_seconds: float = 1800.0,
        gate_count: int = 0,
        load: SessionLoader = OrtSession,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._execution = execution
        self._events = events
        self._strategy = strategy
        self._idle_seconds = idle_seconds
        self._gate_count = gate_count
        self._load_session = load
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[SessionKey, _Entry] = OrderedDict()
        self._gates: dict[tuple[str, int], DeviceGate] = {}
        self._keys: dict[tuple[ModelFile, int, str], SessionKey] = {}
        self._digests = FileDigests()
        self._loads = self._hits = self._evictions = 0
        self._used: dict[str, list[str]] = {}
        self.tally = RunTally()
        """Of the runs of all graphs; whoever begins a step clears it."""
        self._closed = False
        self._timer = IdleTimer(min(60.0, idle_seconds / 4), self.release_idle) if idle_seconds > 0 else None

    def __enter__(self) -> InferencePool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def lease(self, model: ModelFile) -> Iterator[Lease]:
        """Hold the session of ``model`` on the device that is least busy; load it where it is not there yet.

        Raises:
            ModelError: the file cannot be read or is no graph that can be run.
            ProviderError: no provider asked for can run it.
            DeviceMemoryError: there is no memory for it, even with all others released.
        """
        key, entry = self._enter(model)
        try:
            session, gate = self._loaded(key, entry)
            yield Lease(session, gate)
        finally:
            self._leave(key, entry)

    def preload(self, models: Iterable[ModelFile]) -> None:
        """Load all of ``models`` on every device now, where the strategy is to do so; else do nothing."""
        if self._strategy is not MemoryStrategy.AGGRESSIVE:
            return
        tasks = [(model, device) for model in dict.fromkeys(models) for device in self._execution.devices]
        with ThreadPoolExecutor(max_workers=4, thread_name_prefix="preload") as workers:
            for _ in workers.map(lambda task: self._touch(*task), tasks):
                pass

    def release_unneeded(self, needed: Iterable[ModelFile]) -> int:
        """Release what is not among ``needed``, where the strategy is to do so; returns how many were released.

        A session in use is released when its last lease ends.
        """
        if self._strategy is not MemoryStrategy.CONSERVATIVE:
            return 0
        keep = {self._key(model, device) for model in needed for device in self._execution.devices}
        with self._lock:
            for key, entry in self._entries.items():
                entry.doomed = key not in keep
            released = self._evict([key for key in self._entries if key not in keep])
        return _given_back(released)

    def release_idle(self) -> int:
        """Release sessions that nothing has used for the idle time; returns how many were released."""
        oldest = self._clock() - self._idle_seconds
        with self._lock:
            released = self._evict([key for key, entry in self._entries.items() if entry.last_used <= oldest])
        return _given_back(released)

    def release_unused(self) -> int:
        """Release all sessions without a lease; returns how many were released."""
        with self._lock:
            released = self._evict(list(self._entries))
        return _given_back(released)

    def close(self) -> None:
        """Release everything; what is in use goes when its lease ends. No lease is given any more."""
        if self._timer is not None:
            self._timer.close()
        with self._lock:
            self._closed = True
            for entry in self._entries.values():
                entry.doomed = True
            released = self._evict(list(self._entries))
        _given_back(released)

    @property
    def counters(self) -> PoolCounters:
        """What has been done so far."""
        with self._lock:
            return PoolCounters(self._loads, self._hits, self._evictions)

    def look_again(self) -> None:
        """See whether model files have changed before the next runs: a step begins."""
        self._digests.look_again()

    def request(self, model: ModelFile) -> LoadRequest:
        """How the session of ``model`` is asked for first, on the device that is least busy."""
        return self._execution.requests(model, self._digests.digest(model.path), self._least_busy())[0]

    def gate_slots(self) -> dict[str, int | None]:
        """How many graphs may run at once, by provider and number of the device that they ran on; none for any."""
        with self._lock:
            return {f"{provider}:{device}": gate.slots for (provider, device), gate in self._gates.items()}

    def models_used(self) -> dict[str, str]:
        """Each model that was loaded, and the provider it really got (several where devices differ)."""
        with self._lock:
            return {name: ", ".join(providers) for name, providers in self._used.items()}

    def _key(self, model: ModelFile, device: Device) -> SessionKey:
        digest = self._digests.digest(model.path)
        memo = (model, device.id, digest)
        key = self._keys.get(memo)
        if key is None:
            requests = self._execution.requests(model, digest, device)
            key = self._keys[memo] = session_key(requests, digest=digest, device=device.id)
        return key

    def _enter(self, model: ModelFile, device: Device | None = None) -> tuple[SessionKey, _Entry]:
        device = device or self._least_busy()
        key = self._key(model, device)
        with self._lock:
            if self._closed:
                raise RuntimeError("the inference pool is closed")
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry(model, device, threading.Lock())
            entry.leases += 1
            entry.doomed = False
            self._entries.move_to_end(key)
        return key, entry

    def _leave(self, key: SessionKey, entry: _Entry) -> None:
        with self._lock:
            entry.leases -= 1
            entry.last_used = self._clock()
            if entry.leases:
                return
            if entry.session is None:
                # Loading failed; a later lease tries again.
                self._entries.pop(key, None)
            elif entry.doomed:
                self._evict([key])
            else:
                self._trim(entry.device)

    def _touch(self, model: ModelFile, device: Device) -> None:
        key, entry = self._enter(model, device)
        try:
            self._loaded(key, entry)
        finally:
            self._leave(key, entry)

    def _least_busy(self) -> Device:
        devices = self._execution.devices
        if len(devices) == 1:
            return devices[0]
        with self._lock:
            leases = dict.fromkeys((device.id for device in devices), 0)
            for entry in self._entries.values():
                leases[entry.device.id] += entry.leases
        return min(devices, key=lambda device: leases[device.id])

    def _loaded(self, key: SessionKey, entry: _Entry) -> tuple[Session, DeviceGate]:
        if entry.session is not None and entry.gate is not None:
            self._count_hit()
            return entry.session, entry.gate
        with entry.load_lock:
            if entry.failure is not None:
                raise entry.failure
            if entry.session is not None and entry.gate is not None:
                self._count_hit()
                return entry.session, entry.gate
            try:
                return self._load(key, entry)
            except FaceFusionError as error:
                # Threads that wait for this lock need not fail one after the other.
                entry.failure = error
                raise

    def _load(self, key: SessionKey, entry: _Entry) -> tuple[Session, DeviceGate]:
        started = self._clock()
        with self._lock:
            entry.bytes = session_bytes(entry.model.path.stat().st_size)
            self._trim(entry.device)
        requests = self._execution.requests(entry.model, key.model, entry.device)
        session = self._first_that_loads(requests)
        gate = self._gate(session.provider, entry.device)
        self._warm_up(session, gate, entry.model)
        with self._lock:
            entry.session, entry.gate = session, gate
            self._loads += 1
            entry.last_used = self._clock()
            providers = self._used.setdefault(entry.model.name, [])
            if session.provider not in providers:
                providers.append(session.provider)
        if self._timer is not None:
            self._timer.start()
        self._events.emit(ModelLoaded(entry.model.name, session.provider, self._clock() - started))
        return session, gate

    def _first_that_loads(self, requests: tuple[LoadRequest, ...]) -> Session:
        for request in requests[:-1]:
            try:
                return self._load_or_make_room(request)
            except ProviderError as error:
                self._events.emit(Notice(f"{error.fault}; the next provider is used", warning=True))
        return self._load_or_make_room(requests[-1])

    def _load_or_make_room(self, request: LoadRequest) -> Session:
        try:
            return self._load_session(request)
        except DeviceMemoryError:
            if not self.release_unused():
                raise
            return self._load_session(request)

    def _warm_up(self, session: Session, gate: DeviceGate, model: ModelFile) -> None:
        """Let a device compile and measure before the first frame; the CPU has nothing to prepare."""
        if session.provider == "cpu":
            return
        given = dict(model.warm_up)
        inputs: dict[str, Tensor] = {}
        for name, entry in session.signature.inputs.items():
            shape = given.get(name, entry.shape)
            if None in shape or entry.dtype.hasobject:
                return
            inputs[name] = np.zeros([size or 0 for size in shape], entry.dtype)
        with gate.passage():
            session.run(inputs)

    def _gate(self, provider_name: str, device: Device) -> DeviceGate:
        with self._lock:
            gate = self._gates.get((provider_name, device.id))
            if gate is None:
                provider = next(entry for entry in self._execution.providers if entry.name == provider_name)
                slots = provider.gate(device.free_memory)
                if slots is not None and self._gate_count:
                    slots = self._gate_count
                gate = DeviceGate(slots if provider.concurrent else 1)
                self._gates[provider_name, device.id] = gate
            return gate

    def _trim(self, device: Device) -> None:
        """Release the least recently used sessions of a device until the rest fits its limit. Lock held."""
        limit = self._execution.memory_limit
        if limit is None:
            return
        total = sum(entry.bytes for entry in self._entries.values() if entry.device.id == device.id)
        for key, entry in list(self._entries.items()):
            if total <= limit:
                return
            if entry.device.id == device.id and self._evict([key]):
                total -= entry.bytes

    def _evict(self, keys: Iterable[SessionKey]) -> int:
        """Release those of ``keys`` that are loaded and have no lease; returns how many. Lock held."""
        released = 0
        for key in keys:
            entry = self._entries[key]
            if entry.leases == 0 and entry.session is not None:
                del self._entries[key]
                released += 1
        self._evictions += released
        return released

    def _count_hit(self) -> None:
        with self._lock:
            self._hits += 1


def _given_back(released: int) -> int:
    """The number of sessions that were released, once the scratch memory of their runs went too."""
    if released:
        shrink_store()
    return released
