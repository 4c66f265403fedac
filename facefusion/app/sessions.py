"""The inference pool that lives from step to step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from facefusion.app.kept_graphs import kept_graphs
from facefusion.config.state import Snapshot
from facefusion.core.activity import Activity
from facefusion.core.home import caches_folder
from facefusion.core.remembered import Remembered
from facefusion.inference.execution import Execution, Probe, plan_execution
from facefusion.inference.pool import InferencePool, MemoryStrategy
from facefusion.inference.probe import probe
from facefusion.inference.room import shortage
from facefusion.inference.runtime import Runtime, read_runtime, with_memory_of_now
from facefusion.inference.session import OrtSession, SessionLoader
from facefusion.inference.settings import ExecutionSettings, InferenceSettings
from facefusion.memory.settings import MemorySettings
from facefusion.observability.events import Event, EventSink

SECONDS_PER_MINUTE = 60


def look_now() -> Runtime:
    """What this machine offers now."""
    return with_memory_of_now(read_runtime())


class Sessions:
    """Holds one pool, and makes another when a step asks for other providers, devices or limits.

    While no session lives on a device, each step looks anew which device has most free memory, and how much.

    Args:
        look: what this machine offers, with the memory that its cards have free now.
        test: tries out a provider before it is chosen.
        load: makes a session; where none is given, of graphs that are kept optimised.
        caches: folder for what providers compile, and for the slots of cards; where none is given, the program's own.
    """

    def __init__(
        self,
        look: Callable[[], Runtime] = look_now,
        test: Probe = probe,
        load: SessionLoader | None = None,
        caches: Path | None = None,
    ) -> None:
        self._look = look
        self._test = test
        self._load = load
        self._caches = caches or caches_folder()
        self.remembered = Remembered()
        """What was found with these sessions, and what was made from that."""
        self._relay = _Relay()
        self._recipe: tuple[object, ...] | None = None
        self._execution: Execution | None = None
        self._pool: InferencePool | None = None

    def open(self, snapshot: Snapshot, events: EventSink) -> tuple[Execution, InferencePool]:
        """The pool for a step.

        Raises:
            ProviderError: none of the execution providers asked for works.
        """
        self._relay.target = events
        execution_settings = snapshot.get(ExecutionSettings)
        inference = snapshot.get(InferenceSettings)
        memory = snapshot.get(MemorySettings)
        recipe = (
            execution_settings.execution_providers,
            execution_settings.execution_device_ids,
            inference,
            memory.video_memory_strategy,
        )
        if self._pool is None or self._execution is None or recipe != self._recipe or self._may_move:
            self.close()
            self._execution = plan_execution(
                execution_settings,
                inference,
                runtime=self._look(),
                cache=self._caches,
                events=self._relay,
                test=self._test,
            )
            self._pool = InferencePool(
                self._execution,
                events=self._relay,
                strategy=MemoryStrategy(memory.video_memory_strategy),
                idle_seconds=inference.session_idle_minutes * SECONDS_PER_MINUTE,
                load=self._load or self._graphs(self._execution.runtime.version),
            )
            self._recipe = recipe
        self._pool.look_again()
        return self._execution, self._pool

    def _graphs(self, version: str) -> SessionLoader:
        load = partial(OrtSession, events=self._relay)
        return kept_graphs(version, self._relay, load)

    @property
    def _may_move(self) -> bool:
        return self._pool is not None and self._pool.is_empty and self._execution is not None and self._execution.on_gpu

    @property
    def pool(self) -> InferencePool | None:
        """That of the last step, as long as it is open."""
        return self._pool

    def video_shortage(self, snapshot: Snapshot) -> str:
        """What is missing of a device's memory to begin with, in a sentence; empty where nothing is.

        As much has to be free as ``--gpu-memory-limit`` lets a run take; without a limit, enough for a device to be
        found to work.
        """
        execution = self._execution
        if execution is None or not execution.on_gpu or (self._pool is not None and not self._pool.is_empty):
            return ""
        asked = snapshot.get(ExecutionSettings).execution_device_ids
        return shortage(self._look().gpus, asked, execution.memory_limit)

    @property
    def activity(self) -> Activity:
        """Whether anything gets on here. Any thread may ask."""
        pool = self._pool
        return Activity() if pool is None else pool.activity

    def close(self) -> None:
        """Release all sessions, and forget what was found with them."""
        self.remembered.clear()
        if self._pool is not None:
            self._pool.close()
            self._pool = None


class _Relay:
    """Passes events on to the sink of the step that runs now."""

    def __init__(self) -> None:
        self.target: EventSink | None = None

    def emit(self, event: Event) -> None:
        if self.target is not None:
            self.target.emit(event)
