"""Remembers what happened during a run, for a report that has to be written even if the run fails."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from facefusion.observability.events import Event, FrameHeld, ModelLoaded, Notice, StageProgress, StageStarted

FRAME = "frame"
"""The unit of stages that count frames."""


@dataclass(slots=True)
class Recorder:
    """Listens to a run. Thread-safe."""

    notices: dict[str, bool] = field(default_factory=dict)
    """Each message once, in order, and whether it is a warning."""
    models: dict[str, str] = field(default_factory=dict)
    """Models loaded, and the provider each got."""
    held: list[int] = field(default_factory=list)
    """Indices of frames passed through unchanged."""
    frames: int = 0
    """Frames finished by the stage that finished most."""
    _unit: str = ""
    _done: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def emit(self, event: Event) -> None:
        """Remember one event."""
        with self._lock:
            match event:
                case Notice():
                    self.notices.setdefault(event.message, event.warning)
                case ModelLoaded():
                    self.models[event.model] = event.provider
                case FrameHeld():
                    self.held.append(event.index)
                case StageStarted():
                    self._unit, self._done = event.unit, 0
                case StageProgress() if self._unit == FRAME:
                    self._done += event.amount
                    self.frames = max(self.frames, self._done)
