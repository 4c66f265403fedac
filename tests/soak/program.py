"""The real program, which counts the sessions that it makes and can be stopped at a chosen moment."""

from __future__ import annotations

from collections import Counter

from facefusion.app.engine import Engine
from facefusion.config.state import Snapshot
from facefusion.core.report import RunReport
from facefusion.core.stop import StopToken
from facefusion.inference.pool import InferencePool
from facefusion.observability.events import Event, EventSink, Fanout, ModelLoaded, StageProgress


class WatchedProgram(Engine):
    """An engine that is listened to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: Counter[str] = Counter()
        """Sessions made so far, by model."""
        self.stop_after: int | None = None
        """Frames of a step after which it is stopped, 0 for its begin; none to let it go on."""

    @property
    def pool(self) -> InferencePool | None:
        """That of the last step."""
        return None if self._sessions is None else self._sessions.pool

    def execute(self, snapshot: Snapshot, events: EventSink, stop: StopToken) -> RunReport:
        if self.stop_after == 0:
            stop.request("a test")
        return super().execute(snapshot, Fanout((events, _Watch(self, stop))), stop)


class _Watch:
    """Listens to one step."""

    def __init__(self, program: WatchedProgram, stop: StopToken) -> None:
        self._program = program
        self._stop = stop
        self._frames = 0

    def emit(self, event: Event) -> None:
        match event:
            case ModelLoaded():
                self._program.loaded[event.model] += 1
            case StageProgress():
                self._frames += event.amount
                if self._frames == self._program.stop_after:
                    self._stop.request("a test")
