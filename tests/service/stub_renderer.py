"""A stand-in for the engine: segments are lines of text, a result is all of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from facefusion.core.errors import ContentRefusedError, ModelError, ResourceError
from facefusion.core.stop import StopToken
from facefusion.observability.events import EventSink, StageProgress, StageStarted
from facefusion.service.records import JobRecord
from facefusion.service.rendering import JobFiles, Plan

FRAMES = 5


class StubRenderer:
    """Does what the step says: ``segments``, ``seconds`` for each frame, ``refuse``, ``fail``, ``crash``.

    Args:
        breed: of the worker.
        diary: folder in which each beginning and end of a segment is noted, as the name of a file.
    """

    def __init__(self, breed: str, diary: Path) -> None:
        self.breed = breed
        self.released = 0
        self._diary = diary

    def plan(self, job: JobRecord, files: JobFiles, events: EventSink, stop: StopToken) -> Plan:
        if job.step.get("refuse"):
            raise ContentRefusedError(f"{files.target} is refused", "Choose another target.")
        return Plan({"breed": self.breed}, (FRAMES,) * int(str(job.step.get("segments", 1))))

    def render(
        self,
        job: JobRecord,
        files: JobFiles,
        plan: Mapping[str, object],
        number: int,
        token: str,
        events: EventSink,
        stop: StopToken,
    ) -> Mapping[str, object]:
        self._note(f"begun-{job.id}-{number}-{token}-{os.getpid()}")
        self._misbehave(job, files, number)
        events.emit(StageStarted("process", FRAMES))
        for _ in range(FRAMES):
            stop.sleep(float(str(job.step.get("seconds", 0))))
            events.emit(StageProgress())
        path = files.segments / f"{number}-{token}.txt"
        path.write_text(f"{job.id} segment {number} of {files.target.read_text()}\n")
        self._note(f"ended-{job.id}-{number}-{token}-{os.getpid()}")
        return {"file": path.name, "pid": os.getpid()}

    def join(
        self,
        job: JobRecord,
        files: JobFiles,
        plan: Mapping[str, object],
        manifests: Sequence[Mapping[str, object]],
        events: EventSink,
        stop: StopToken,
    ) -> Mapping[str, object]:
        self._note(f"joined-{job.id}-0-{os.getpid()}-{time.time_ns()}")
        texts = [(files.segments / str(each["file"])).read_text() for each in manifests]
        files.output.write_text("".join(texts))
        return {"pids": sorted({each["pid"] for each in manifests})}  # type: ignore[type-var]

    def release(self) -> None:
        self.released += 1

    def _misbehave(self, job: JobRecord, files: JobFiles, number: int) -> None:
        begun = len(list(self._diary.glob(f"begun-{job.id}-{number}-*")))
        match job.step.get("fault"):
            case "memory" if self.released == 0:
                raise ResourceError(f"no memory for {files.target}", "Use less.")
            case "always memory":
                raise ResourceError(f"no memory for {files.target}", "Use less.")
            case "passing" if begun == 1:
                raise ModelError("the mirror is away", "Try again.")
            case "defect":
                raise ZeroDivisionError(f"in {files.target}")
            case "poison":
                os.kill(os.getpid(), signal.SIGKILL)

    def _note(self, name: str) -> None:
        (self._diary / name).touch()
