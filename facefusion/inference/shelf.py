"""Where loaded sessions are kept: who uses which, what each takes of its device, and who must go for another."""

from __future__ import annotations

import math
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from facefusion.core.errors import FaceFusionError
from facefusion.core.stop import POLL_SECONDS
from facefusion.inference.gate import Check, DeviceGate
from facefusion.inference.keys import SessionKey
from facefusion.inference.session import ModelFile, Session

Capacity = Callable[[int, int], int | None]
"""From the number of a device, and the bytes that sessions on it claim, to the bytes that they may take in all; none
for no bound."""

Clock = Callable[[], float]
"""Seconds that only grow."""


@dataclass(slots=True, eq=False)
class Place:
    """Of one session; made with a claim on memory, before the session is loaded."""

    key: SessionKey
    model: ModelFile
    device: int
    bytes: int
    """Claimed on the device."""
    session: Session | None = None
    gate: DeviceGate | None = None
    failure: BaseException | None = None
    leases: int = 0
    last_used: float = 0.0
    doomed: bool = False
    """To be released as soon as its last lease ends."""

    @property
    def is_idle(self) -> bool:
        """Whether its session may go."""
        return self.leases == 0 and self.session is not None


Refusal = Callable[[Place, int], FaceFusionError]
"""Makes an error of the place of a session that does not fit, and the bytes that sessions in use on its device take."""


class Shelf:
    """Places of sessions. Thread-safe.

    What keeps it from ever claiming more than there is, and from waiting for ever:

    - Memory is claimed before a session is loaded, and given back when the session is gone.
    - Room is made by releasing sessions without a lease, those first that the step does not need, least recently used
      first. Where that is too little, the one who asks waits for leases to end.
    - Who waits holds no lease: a thread that has one is refused instead. So all leases are of threads that go on.
    - Those who ask wait in line, device by device, also for what is loaded: else a session in use by many would never
      be without a lease.

    Args:
        capacity: of each device; asked while the lock is held.
        refusal: makes the error of one who asks for what will not fit; called while the lock is held.
        clock: monotonic seconds.
    """

    def __init__(self, capacity: Capacity, refusal: Refusal, clock: Clock) -> None:
        self._capacity = capacity
        self._refusal = refusal
        self._clock = clock
        self._changed = threading.Condition()
        self._places: OrderedDict[SessionKey, Place] = OrderedDict()
        self._lines: defaultdict[int, deque[object]] = defaultdict(deque)
        self._held: Counter[int] = Counter()
        """Leases of each thread."""
        self._needed: frozenset[SessionKey] = frozenset()
        self._waiting = 0
        self._closed = False
        self._evictions = 0

    def take(self, wanted: Place, check: Check) -> tuple[Place, bool]:
        """Lease the place of a session; wait for memory where there is too little.

        Args:
            wanted: is the place from now on, where there is none under its key.
            check: called again and again while waiting; may raise.

        Returns:
            The place, and whether the caller has to load its session, then to say :meth:`loaded` or :meth:`failed`.

        Raises:
            FaceFusionError: there is no room, or loading failed for another thread that asked for it first.
        """
        thread = threading.get_ident()
        with self._changed:
            may_wait = not self._held[thread]
            with self._in_line(wanted.device, waits=may_wait) as is_first:
                while not (is_first() and (place := self._find(wanted, may_wait=may_wait))):
                    self._wait(check)
            place.doomed = False
            if place is not wanted:
                self._join(place, check)
            self._held[thread] += 1
            return place, place is wanted

    def loaded(self, place: Place, session: Session, gate: DeviceGate, claim: int) -> None:
        """The session is there and takes so many bytes; all who wait for it may use it."""
        with self._changed:
            place.session, place.gate, place.bytes = session, gate, claim
            place.last_used = self._clock()
            self._tell()

    def failed(self, place: Place, error: BaseException) -> None:
        """It cannot be loaded; all who wait for it fail too, and a later one tries again."""
        with self._changed:
            place.failure = error
            self._drop(place)

    def leave(self, place: Place) -> None:
        """A lease ends, in the thread that it began in."""
        thread = threading.get_ident()
        with self._changed:
            self._held[thread] -= 1
            if not self._held[thread]:
                del self._held[thread]
            place.leases -= 1
            place.last_used = self._clock()
            if place.leases == 0:
                if place.doomed:
                    self._evict((place,))
                self._tell()

    def need(self, keys: Iterable[SessionKey]) -> None:
        """These sessions stay longest where room has to be made: a step begins that runs them with each frame."""
        with self._changed:
            self._needed = frozenset(keys)

    def weigh(self, claim: Callable[[Place], int]) -> None:
        """Let each loaded session claim other bytes than before."""
        with self._changed:
            for place in self._places.values():
                place.bytes = claim(place)
            self._tell()

    def keep_only(self, keys: Iterable[SessionKey]) -> int:
        """Release all others, those in use when their last lease ends; returns how many went at once."""
        keep = frozenset(keys)
        with self._changed:
            for place in self._places.values():
                place.doomed = place.key not in keep
            return self._evict([place for place in self._places.values() if place.doomed])

    def release(self, *, unused_since: float = math.inf, unneeded: bool = False) -> int:
        """Release sessions without a lease; returns how many.

        Args:
            unused_since: only those that nothing has used since then.
            unneeded: only those that the step does not need.
        """
        with self._changed:
            return self._evict(
                [
                    one
                    for one in self._places.values()
                    if one.last_used <= unused_since and not (unneeded and one.key in self._needed)
                ]
            )

    def retire(self, place: Place) -> None:
        """A session is of no more use, and goes with its last lease."""
        with self._changed:
            place.doomed = True

    def close(self) -> int:
        """Release everything, what is in use when its lease ends; returns how many went at once."""
        with self._changed:
            self._closed = True
            self._tell()
        return self.keep_only(())

    def claimed(self, device: int) -> int:
        """Bytes that sessions on a device claim, loaded or being loaded."""
        with self._changed:
            return self._claimed(device)

    @property
    def evictions(self) -> int:
        """Sessions released so far."""
        return self._evictions

    @property
    def is_empty(self) -> bool:
        """Whether there is no session and none is being loaded."""
        return not self._places

    def holds(self, model: ModelFile) -> bool:
        """Whether a session of a graph is there, on whatever device."""
        with self._changed:
            return any(place.model == model and place.session is not None for place in self._places.values())

    def _find(self, wanted: Place, *, may_wait: bool) -> Place | None:
        """The place with one more lease; none where it takes others to give up theirs. Lock held."""
        if self._closed:
            raise RuntimeError("the inference pool is closed")
        place = self._places.get(wanted.key)
        if place is None:
            if not self._make_room(wanted):
                if may_wait and self._in_use(wanted.device):
                    return None
                raise self._refusal(wanted, self._in_use(wanted.device))
            place = self._places[wanted.key] = wanted
        self._places.move_to_end(place.key)
        place.leases += 1
        return place

    def _join(self, place: Place, check: Check) -> None:
        """Wait until another thread has loaded a session. It has its memory already, so it ends. Lock held."""
        try:
            while place.session is None:
                if place.failure is not None:
                    raise place.failure
                self._wait(check)
        except BaseException:
            place.leases -= 1
            raise

    @contextmanager
    def _in_line(self, device: int, *, waits: bool) -> Iterator[Callable[[], bool]]:
        """Stand in the line of a device; gives what tells whether one is the first. Lock held."""
        if not waits:
            yield lambda: True
            return
        line, ticket = self._lines[device], object()
        line.append(ticket)
        try:
            yield lambda: line[0] is ticket
        finally:
            line.remove(ticket)
            self._tell()

    def _make_room(self, wanted: Place) -> bool:
        """Release what must go for a place, and say whether it fits then; nothing goes in vain. Lock held."""
        claimed = self._claimed(wanted.device)
        capacity = self._capacity(wanted.device, claimed)
        if capacity is None:
            return True
        idle = [one for one in self._places.values() if one.device == wanted.device and one.is_idle]
        idle.sort(key=lambda one: one.key in self._needed)
        going: list[Place] = []
        while claimed + wanted.bytes > capacity:
            if len(going) == len(idle):
                return False
            going.append(idle[len(going)])
            claimed -= going[-1].bytes
        self._evict(going)
        return True

    def _in_use(self, device: int) -> int:
        """Bytes of what has leases, and so may be given back when they end. Lock held."""
        return sum(one.bytes for one in self._places.values() if one.device == device and one.leases)

    def _claimed(self, device: int) -> int:
        return sum(one.bytes for one in self._places.values() if one.device == device)

    def _evict(self, places: Iterable[Place]) -> int:
        """Release those that have a session and no lease; returns how many. Lock held."""
        idle = [place for place in places if place.is_idle]
        for place in idle:
            self._drop(place)
        self._evictions += len(idle)
        return len(idle)

    def _drop(self, place: Place) -> None:
        """Forget a place. Lock held, so that nobody claims what its session takes before that is given back."""
        if self._places.get(place.key) is place:
            del self._places[place.key]
        place.session = None
        self._tell()

    def _wait(self, check: Check) -> None:
        """Let others go on for a while. Lock held before and after."""
        self._waiting += 1
        try:
            self._changed.wait(POLL_SECONDS)
        finally:
            self._waiting -= 1
        check()

    def _tell(self) -> None:
        if self._waiting:
            self._changed.notify_all()
