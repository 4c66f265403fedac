from __future__ import annotations

from facefusion.observability.events import (
    FrameHeld,
    ModelLoaded,
    Notice,
    StageFinished,
    StageProgress,
    StageStarted,
)
from facefusion.observability.recorder import Recorder


def test_what_happened_is_remembered():
    recorder = Recorder()
    for event in (
        Notice("a"),
        Notice("b", warning=True),
        Notice("a"),
        StageStarted("fetch", 100, "B"),
        StageProgress(100),
        ModelLoaded("mesh", "cpu", 0.1),
        StageStarted("process", 10),
        StageProgress(3),
        StageProgress(),
        FrameHeld(7, "why"),
        StageFinished(),
        StageStarted("look", 2),
        StageProgress(2),
    ):
        recorder.emit(event)
    assert recorder.notices == {"a": False, "b": True}
    assert recorder.models == {"mesh": "cpu"}
    assert recorder.held == [7]
    assert recorder.frames == 4
