"""The one place where graphs are loaded, shared and released."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

import numpy as np

from facefusion.core.activity import Activity
from facefusion.core.errors import FaceFusionError, ProviderError
from facefusion.core.ticker import Ticker
from facefusion.core.values import Tensor
from facefusion.inference.arena import shrink_store
from facefusion.inference.execution import Device, Execution
from facefusion.inference.gate import Check, DeviceGate, DeviceGates, wait_on
from facefusion.inference.interruption import RunOptions
from facefusion.inference.keys import FileDigests, SessionKey, session_key
from facefusion.inference.loads import DeviceLoads
from facefusion.inference.nvml import MemoryReader, read_memory
from facefusion.inference.room import DeviceRoom
from facefusion.inference.session import DeviceMemoryError, LoadRequest, ModelFile, OrtSession, Session, SessionLoader
from facefusion.inference.shares import Shares
from facefusion.inference.shelf import Place, Shelf
from facefusion.inference.tally import RunTally
from facefusion.observability.events import EventSink, ModelLoaded, Notice

MOST_EMERGENCIES = 3
"""In a step. Each halves how many graphs run at once, and after three one of eight is left."""


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


class Lease:
    """A session and its device's gate, for as long as the lease lasts.

    The gate is passed for each run, not held for the lease, so that a thread may hold two leases at once.
    """

    __slots__ = ("_check", "_loads", "place")

    def __init__(self, place: Place, loads: DeviceLoads, check: Check) -> None:
        self.place = place
        self._loads = loads
        self._check = check

    @property
    def session(self) -> Session:
        """The session; keep no reference to it, or what it takes of the device cannot be given back."""
        if self.place.session is None:
            raise RuntimeError("the lease is over")
        return self.place.session

    def run(self, inputs: Mapping[str, Tensor], options: RunOptions | None = None) -> dict[str, Tensor]:
        """Wait for the device, run the graph once and return its outputs by name. See :meth:`Session.run`."""
        gate = self.place.gate or DeviceGate(None)
        with gate.passage(self._check):
            begin = time.perf_counter()
            outputs = self.session.run(inputs, options)
            self._loads.took(self.place.model, time.perf_counter() - begin)
            return outputs


class InferencePool:
    """Sessions by key: each is loaded once, however many threads ask, and shared by all of them.

    Thread-safe. Close it, or use it as a context manager; it owns a timer thread.

    Args:
        execution: providers, devices and whatever else sessions are made with.
        events: told about each session made and each provider that failed on a graph.
        strategy: when sessions are made and released.
        idle_seconds: sessions that nothing has used for so long are released; 0 for never.
        load: makes a session; another function in tests.
        clock: monotonic seconds; another one in tests.
        read: asks the driver for the memory of a card; another function in tests.
    """

    def __init__(
        self,
        execution: Execution,
        *,
        events: EventSink,
        strategy: MemoryStrategy = MemoryStrategy.BALANCED,
        idle_seconds: float = 1800.0,
        load: SessionLoader = OrtSession,
        clock: Callable[[], float] = time.monotonic,
        read: MemoryReader = read_memory,
    ) -> None:
        self._execution = execution
        self._events = events
        self._strategy = strategy
        self._idle_seconds = idle_seconds
        self._load_session = load
        self._clock = clock
        self._lock = threading.Lock()
        self._loads_by_device = DeviceLoads(execution.devices)
        self._room = DeviceRoom(execution, read)
        self._gates = DeviceGates(execution, events)
        self._shares = Shares(execution, self._gates, self._room)
        self._shelf = Shelf(self._room.capacity, self._refusal, clock)
        self._keys: dict[tuple[ModelFile, int, str, int], SessionKey] = {}
        self._digests = FileDigests()
        self._loads = self._hits = 0
        self._loading = 0
        self._emergencies = 0
        """Of this step: times that the memory of a device ran out though all should have fit."""
        self._used: dict[str, list[str]] = {}
        self.tally = RunTally()
        """Of the runs of all graphs; whoever begins a step clears it."""
        rhythm = min(60.0, idle_seconds / 4)
        self._timer = Ticker(rhythm, self.release_idle, "idle-sessions") if idle_seconds > 0 else None

    def __enter__(self) -> InferencePool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def expect(self, models: Iterable[ModelFile], pictures: int = 1) -> None:
        """A step begins that runs these graphs with each frame: their sessions stay longest.

        Where the memory of a device does not hold them with as many runs at once as its gate lets through, the gate is
        narrowed, unless the user has set its width.

        Args:
            models: whose graphs these are.
            pictures: that go through a graph in one run at most.

        Raises:
            ModelError: a file cannot be read.
            ResourceError: the memory of a device does not hold them at all.
        """
        models = tuple(dict.fromkeys(models))
        for model in models:
            self._digests.digest(model.path)  # tells best of a file that cannot be read
        self._shares.begin(models, pictures)
        for device in self._execution.devices:
            self._shares.plan(device, self._shelf.claimed(device.id))
        with self._lock:
            self._emergencies = 0
        self._shelf.weigh(lambda place: self._shares.claim(place.model, place.device, place.bytes))
        self._need(models)

    @contextmanager
    def lease(self, model: ModelFile, check: Check = wait_on) -> Iterator[Lease]:
        """Hold the session of ``model`` on the device that is least busy; load it where it is not there yet.

        Where a device has no room, wait until enough leases of others have ended.

        Args:
            model: whose session it is.
            check: called again and again while waiting for room or for the device; may raise.

        Raises:
            ModelError: the file cannot be read or is no graph that can be run.
            ProviderError: no provider asked for can run it.
            ResourceError: the device has no room for it, even with all others released.
        """
        device = self._loads_by_device.begin(model)
        try:
            place = self._place(model, device, check)
            try:
                yield Lease(place, self._loads_by_device, check)
            finally:
                self._shelf.leave(place)
        finally:
            self._loads_by_device.end(model, device)

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
        return _given_back(self._shelf.keep_only(self._keys_of(needed)))

    def release_idle(self) -> int:
        """Release sessions that nothing has used for the idle time; returns how many were released."""
        return _given_back(self._shelf.release(unused_since=self._clock() - self._idle_seconds))

    def release_unused(self) -> int:
        """Release all sessions without a lease; returns how many were released."""
        return _given_back(self._shelf.release())

    def make_room(self, short: Place) -> bool:
        """After a run that found no memory: whether another try, with another lease, may find some.

        A session that is held to a share of its device gets a larger one, as far as that leaves room for what the step
        needs. Else sessions without a lease are released, those that the step needs, with a narrower gate from then on,
        only :data:`MOST_EMERGENCIES` times in a step: what each frame loads again would take longer than the frame.
        """
        if self._grow(short):
            self._shelf.retire(short)
            return True
        return self._relieve(short, narrow=True)

    def close(self) -> None:
        """Release everything; what is in use goes when its lease ends. No lease is given any more."""
        if self._timer is not None:
            self._timer.close()
        _given_back(self._shelf.close())

    @property
    def counters(self) -> PoolCounters:
        """What has been done so far."""
        with self._lock:
            return PoolCounters(self._loads, self._hits, self._shelf.evictions)

    @property
    def activity(self) -> Activity:
        """Whether anything gets on here."""
        with self._lock:
            return Activity(self.tally.total + self._loads, self._loading > 0)

    @property
    def is_empty(self) -> bool:
        """Whether no session lives here, and none is being loaded."""
        return self._shelf.is_empty

    def holds(self, model: ModelFile) -> bool:
        """Whether a session of ``model`` is loaded."""
        return self._shelf.holds(model)

    def look_again(self) -> None:
        """See whether model files have changed before the next runs: a step begins."""
        self._digests.look_again()

    def request(self, model: ModelFile) -> LoadRequest:
        """How the session of ``model`` is asked for first, on the first device."""
        device = self._execution.devices[0]
        return self._requests(model, device, self._shares.of(model, device.id))[0]

    def gate_slots(self) -> dict[str, int | None]:
        """How many graphs may run at once, by provider and number of the device that they ran on; none for any."""
        return self._gates.slots()

    def models_used(self) -> dict[str, str]:
        """Each model that was loaded, and the provider it really got (several where devices differ)."""
        with self._lock:
            return {name: ", ".join(providers) for name, providers in self._used.items()}

    def _requests(self, model: ModelFile, device: Device, share: int) -> tuple[LoadRequest, ...]:
        return self._execution.requests(model, self._digests.digest(model.path), device, share)

    def _wanted(self, model: ModelFile, device: Device) -> Place:
        """Where its session is, or is to be. Shares may change at any time, so that all of it goes by one look."""
        digest = self._digests.digest(model.path)  # tells best of a file that cannot be read
        share = self._shares.of(model, device.id)
        memo = (model, device.id, digest, share)
        key = self._keys.get(memo)
        if key is None:
            key = session_key(self._requests(model, device, share), digest=digest, device=device.id)
            self._keys[memo] = key
        return Place(key, model, device.id, share)

    def _keys_of(self, models: Iterable[ModelFile]) -> set[SessionKey]:
        return {self._wanted(model, device).key for model in models for device in self._execution.devices}

    def _need(self, models: Iterable[ModelFile]) -> None:
        self._shelf.need(self._keys_of(models))

    def _refusal(self, wanted: Place, in_use: int) -> FaceFusionError:
        name = wanted.model.name
        claimed = self._shelf.claimed(wanted.device)
        who_takes = f"{name} and the models that are in use take" if in_use else f"{name} takes"
        return self._room.refusal(wanted.device, in_use + wanted.bytes, claimed, who_takes)

    def _touch(self, model: ModelFile, device: Device) -> None:
        self._shelf.leave(self._place(model, device, wait_on))

    def _place(self, model: ModelFile, device: Device, check: Check) -> Place:
        """The place of a session that is loaded, with a lease for this thread."""
        while True:
            wanted = self._wanted(model, device)
            try:
                return self._taken(wanted, device, check)
            except DeviceMemoryError:
                if not self._grow(wanted):
                    raise

    def _taken(self, wanted: Place, device: Device, check: Check) -> Place:
        place, is_new = self._shelf.take(wanted, check)
        if not is_new:
            with self._lock:
                self._hits += 1
            return place
        with self._lock:
            self._loading += 1
        try:
            self._load(place, device)
        except BaseException as error:
            _let_go(error)
            self._shelf.failed(place, error)
            self._shelf.leave(place)
            raise
        finally:
            with self._lock:
                self._loading -= 1
        return place

    def _grow(self, short: Place) -> bool:
        """Whether the graph of a session that found no memory has a larger share now."""
        grown = self._shares.grow(short, self._shelf.claimed(short.device))
        if grown:
            self._need(self._shares.expected)
        return grown

    def _load(self, place: Place, device: Device) -> None:
        started = self._clock()
        model = place.model
        session, gate = self._ready(place, device)
        # On the processor it takes nothing of the device that it was meant for.
        claim = place.bytes if session.provider == self._execution.providers[0].name else 0
        self._shelf.loaded(place, session, gate, claim)
        with self._lock:
            self._loads += 1
            providers = self._used.setdefault(model.name, [])
            if session.provider not in providers:
                providers.append(session.provider)
        if self._timer is not None:
            self._timer.start()
        self._events.emit(ModelLoaded(model.name, session.provider, self._clock() - started))

    def _gate(self, session: Session, model: ModelFile, device: Device) -> DeviceGate:
        """On the processor a graph whose runs take several threads has a gate of its own, which leaves cores enough."""
        if session.provider == "cpu" and model.threads > 1 and model.callers:
            return DeviceGate(model.callers)
        return self._gates.gate(session.provider, device)

    def _ready(self, place: Place, device: Device) -> tuple[Session, DeviceGate]:
        """A session that runs, with its gate; where memory runs out it is tried again, as far as there is more."""
        while True:
            try:
                return self._made(place, device)
            except DeviceMemoryError as error:
                _let_go(error)
                claimed = self._shelf.claimed(place.device)
                if self._shares.larger(place, claimed) or not self._relieve(place, narrow=False):
                    raise

    def _made(self, place: Place, device: Device) -> tuple[Session, DeviceGate]:
        session = self._first_that_loads(self._requests(place.model, device, place.bytes))
        gate = self._gate(session, place.model, device)
        self._warm_up(session, gate, place.model)
        return session, gate

    def _relieve(self, short: Place, *, narrow: bool) -> bool:
        """Give back memory of a device that ran out though it should hold all; returns whether there is more now."""
        if _given_back(self._shelf.release(unneeded=True)):
            return True
        with self._lock:
            if self._emergencies == MOST_EMERGENCIES:
                return False
            self._emergencies += 1
        width = self._gates.narrow(short.device) if narrow else None
        if width is not None:
            self._need(self._shares.expected)  # under a limit, other shares make other keys
            runs = "one graph runs" if width == 1 else f"{width} graphs run"
            message = f"{short.model.name}: device {short.device} ran out of memory; {runs} on it at once from now on."
            self._events.emit(Notice(message, warning=True))
        return self.release_unused() > 0 or width is not None

    def _first_that_loads(self, requests: tuple[LoadRequest, ...]) -> Session:
        for request in requests[:-1]:
            try:
                return self._load_session(request)
            except ProviderError as error:
                self._events.emit(Notice(f"{error.fault}; the next provider is used", warning=True))
        return self._load_session(requests[-1])

    def _warm_up(self, session: Session, gate: DeviceGate, model: ModelFile) -> None:
        """Let a device compile and measure before the first frame; the CPU has nothing to prepare."""
        if session.provider == "cpu":
            return
        given = dict(model.warm_up)
        inputs: dict[str, Tensor] = {}
        for name, entry in session.signature.inputs.items():
            shape = given.get(name, entry.shape)
            if shape[:1] == (None,):
                shape = (1, *shape[1:])  # of pictures whose number is open, one
            if None in shape or entry.dtype.hasobject:
                return
            inputs[name] = np.zeros([size or 0 for size in shape], entry.dtype)
        with gate.passage():
            session.run(inputs)


def _let_go(error: BaseException) -> None:
    """Drop what the calls that led to an error held: a session that was made, and failed at its first run."""
    seen: BaseException | None = error
    while seen is not None:
        traceback.clear_frames(seen.__traceback__)
        seen = seen.__cause__ or seen.__context__


def _given_back(released: int) -> int:
    """The number of sessions that were released, once the scratch memory of their runs went too."""
    if released:
        shrink_store()
    return released
