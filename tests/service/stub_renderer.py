"""A stand-in for the engine: segments are lines of text, a result is all of them."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from facefusion.core.activity import Activity
from facefusion.core.errors import ContentRefusedError, ModelError, ResourceError, VideoMemoryError
from facefusion.core.stop import StopToken
from facefusion.observability.events import EventSink, StageProgress, StageStarted
from facefusion.service.pulse import Patience
from facefusion.service.records import JobRecord
from facefusion.service.rendering import JobFiles, Plan

FRAMES = 5
HANGING_SECONDS = 600
STUB_PATIENCE = Patience(working=3.0, preparing=6.0, grace=12.0)
LEASE_SECONDS = 8.0
"""Shorter than a real one, so that tests need not wait for long."""


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
        if job.step.get("fault") == "large plan":
            self._need_card(needed=3 << 30)
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

    @property
    def together(self) -> int:
        return 4

    def activity(self) -> Activity:
        return Activity()

    def video_shortage(self) -> str:
        return ""

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
            case "small card":
                self._need_card(needed=3 << 30)
            case "half a card" if not job.alone:
                self._need_card(needed=3 << 30)
            case "taken card" if (self._diary.parent / "taken").exists():
                raise VideoMemoryError(f"no room for {files.target} now", "Wait.", needed=3 << 30, may_pass=True)
            case "several at once" if not job.alone:
                raise VideoMemoryError(f"no room for so much of {files.target}", "Use less.")
            case "hang" if number == 0 and begun == 1:
                time.sleep(HANGING_SECONDS)
            case "hang in a library" if number == 0 and begun == 1:
                ctypes.PyDLL(None).sleep(HANGING_SECONDS)  # holds the interpreter's lock, as a careless library does
            case "long silence" if begun == 1:
                time.sleep(STUB_PATIENCE.preparing + LEASE_SECONDS)
                self._note(f"silence-{job.id}")

    def _need_card(self, needed: int) -> None:
        if self.breed.startswith("small"):
            raise VideoMemoryError("the models take 3 GB, and a card has 2 GB", "Use another.", needed=needed)

    def _note(self, name: str) -> None:
        (self._diary / name).touch()
