from __future__ import annotations

import io
import logging
import threading

import pytest

from facefusion.observability.events import (
    FrameHeld,
    ModelLoaded,
    Notice,
    StageFinished,
    StageProgress,
    StageStarted,
)
from facefusion.observability.log import set_up_logging
from facefusion.observability.sinks import Stage, TerminalSink
from facefusion.observability.terminal import Terminal


class Screen(io.StringIO):
    def isatty(self):
        return True


class ClosedPipe(io.StringIO):
    def write(self, text):
        raise BrokenPipeError


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def shown(*events, level="info", stream=None):
    stream = stream or io.StringIO()
    sink = TerminalSink(Terminal(stream, level), Clock())
    for event in events:
        sink.emit(event)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("level", "text"),
    [
        ("error", ""),
        ("warn", "warning: careful\nwarning: frame 3 is passed through unchanged: no memory\n"),
        ("info", "said\nwarning: careful\nwarning: frame 3 is passed through unchanged: no memory\n"),
        (
            "debug",
            "said\nwarning: careful\nwarning: frame 3 is passed through unchanged: no memory\n"
            "frame 4 is passed through unchanged: no memory\nloaded yunet on cpu in 0.25 s\n",
        ),
    ],
)
def test_the_level_decides_what_is_shown(level, text):
    events = (
        Notice("said"),
        Notice("said"),
        Notice("careful", warning=True),
        FrameHeld(3, "no memory"),
        FrameHeld(4, "no memory"),
        ModelLoaded("yunet", "cpu", 0.25),
    )
    assert shown(*events, level=level) == text


def test_without_a_terminal_progress_is_a_line_every_few_seconds():
    stream = io.StringIO()
    clock = Clock()
    sink = TerminalSink(Terminal(stream), clock)
    sink.emit(StageStarted("processing", 100))
    for _ in range(100):
        clock.now += 0.125
        sink.emit(StageProgress())
    sink.emit(StageFinished())
    assert stream.getvalue().splitlines() == [
        "processing: 40 of 100 frames, 8.0 frames/s, 8 s left",
        "processing: 80 of 100 frames, 8.0 frames/s, 2 s left",
        "processing: 100 of 100 frames, 8.0 frames/s",
    ]


def test_an_inner_stage_takes_progress_until_it_ends():
    stream = io.StringIO()
    clock = Clock()
    sink = TerminalSink(Terminal(stream), clock)
    sink.emit(StageStarted("processing", 2))
    sink.emit(StageStarted("downloading", 2**21, "B"))
    clock.now += 1
    sink.emit(StageProgress(2**21))
    sink.emit(StageFinished())
    sink.emit(StageProgress(2))
    sink.emit(StageFinished())
    sink.emit(StageFinished())
    assert stream.getvalue().splitlines() == [
        "downloading: 2.0 of 2.0 MiB, 2.0 MiB/s",
        "processing: 2 of 2 frames, 2.0 frames/s",
    ]


def test_progress_is_hidden_below_info():
    assert shown(StageStarted("processing", 2), StageProgress(2), StageFinished(), level="warn") == ""


def test_at_a_terminal_progress_is_a_bar_and_lines_stand_above_it():
    text = shown(StageStarted("processing", 2), StageProgress(2), Notice("said"), StageFinished(), stream=Screen())
    last = text.replace("\n", "\r").rstrip("\r").split("\r")[-1]
    assert last.startswith("processing: 100%|")
    assert "| 2/2 [" in last
    assert "said\n" in text


def test_progress_from_many_threads_is_not_lost():
    stream = io.StringIO()
    sink = TerminalSink(Terminal(stream), Clock())
    sink.emit(StageStarted("processing", 400))

    def work():
        for _ in range(100):
            sink.emit(StageProgress())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sink.emit(StageFinished())
    assert stream.getvalue() == "processing: 400 of 400 frames\n"


def test_a_reader_that_went_away_is_no_failure():
    assert shown(Notice("said"), stream=ClosedPipe()) == ""


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("analysing", 1, "frame", 1, 0, 0.0), "analysing: 1 of 1 frame"),
        (("analysing", None, "frame", 0, 0, 3.0), "analysing: 0 frames"),
        (("analysing", None, "frame", 7, 0, 3.5), "analysing: 7 frames, 2.0 frames/s"),
        (("analysing", 5, "frame", 7, 0, 3.5), "analysing: 7 frames, 2.0 frames/s"),
        (("process", 300, "frame", 220, 200, 4.0), "process: 220 of 300 frames, 5.0 frames/s, 16 s left"),
        (("process", 300, "frame", 200, 200, 4.0), "process: 200 of 300 frames"),
        (("fetching", 2**22, "B", 2**20, 0, 2.0), "fetching: 1.0 of 4.0 MiB, 0.5 MiB/s, 6 s left"),
    ],
)
def test_the_line_of_a_stage(arguments, line):
    name, total, unit, done, earlier, seconds = arguments
    assert Stage(name, total, unit, started=0.0, said=0.0, done=done, earlier=earlier).line(seconds) == line


def test_log_lines_name_their_module():
    stream = io.StringIO()
    set_up_logging("info", Terminal(io.StringIO()))
    set_up_logging("warn", Terminal(stream))
    logger = logging.getLogger("facefusion.media.reader")
    logger.info("quiet")
    logger.warning("torn at %d", 7)
    logging.getLogger("elsewhere").warning("theirs")
    assert stream.getvalue() == "[FACEFUSION.READER] torn at 7\n[FACEFUSION.ELSEWHERE] theirs\n"
