"""Ends what a graph computes as soon as a stop is asked for: a tile of a large model takes a processor seconds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Protocol

import onnxruntime

from facefusion.core.errors import FaceFusionError
from facefusion.core.stop import POLL_SECONDS, StopToken
from facefusion.inference.runtime import FATAL_ONLY


class RunOptions(Protocol):
    """What ONNX Runtime takes along on a run."""

    terminate: bool
    """Set by any thread, it has the run fail at the next node of the graph."""


class Interruption:
    """Watches over runs of graphs. Thread-safe; a context manager, which owns a thread from the first run on."""

    def __init__(self, stop: StopToken) -> None:
        self._stop = stop
        self._lock = threading.Lock()
        self._under_way: dict[int, RunOptions] = {}
        self._closed = threading.Event()
        self._watcher: threading.Thread | None = None

    def __enter__(self) -> Interruption:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Watch no longer."""
        self._closed.set()
        if self._watcher is not None:
            self._watcher.join()

    def check(self) -> None:
        """Return at once, or end a wait where a stop was asked for.

        Raises:
            Stopped: a stop was asked for.
        """
        self._stop.check()

    @contextmanager
    def run(self) -> Iterator[RunOptions]:
        """For one run: options to hand to ONNX Runtime.

        Raises:
            Stopped: a stop was asked for, before the run or while it was under way.
        """
        self._stop.check()
        options = _run_options()
        with self._lock:
            self._under_way[id(options)] = options
            self._watch()
        try:
            yield options
        except FaceFusionError:
            self._stop.check()  # then it failed since it was ended
            raise
        finally:
            with self._lock:
                del self._under_way[id(options)]

    def _watch(self) -> None:
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._wait, name="interruption", daemon=True)
            self._watcher.start()

    def _wait(self) -> None:
        while not self._closed.wait(POLL_SECONDS):
            if self._stop.requested:
                with self._lock:
                    for options in self._under_way.values():
                        options.terminate = True


def _run_options() -> Any:  # noqa: ANN401 - ONNX Runtime is not typed
    options = onnxruntime.RunOptions()
    options.log_severity_level = FATAL_ONLY  # what goes wrong in a run is raised; it need not be printed as well
    return options
