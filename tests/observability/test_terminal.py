from __future__ import annotations

import io
import os
import re
import sys
import threading

import pytest

from facefusion.observability.events import (
    Notice,
    StageFinished,
    StageProgress,
    StageStarted,
    StepFinished,
    StepStarted,
)
from facefusion.observability.sinks import TerminalSink
from facefusion.observability.terminal import Terminal


class Gone(io.StringIO):
    """A terminal that went away: every write fails."""

    def isatty(self) -> bool:
        return True

    def write(self, _text: str) -> int:
        raise OSError(5, "Input/output error")


class Window(io.StringIO):
    """A terminal that is there."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [None, Gone()])
def test_a_stream_that_takes_nothing_never_stops_the_work(stream):
    terminal = Terminal(stream)
    terminal.line("one")
    if terminal.is_interactive:
        terminal.advance_bar(1)
    terminal.close_bar()
    terminal.line("two")


def test_a_terminal_that_goes_away_under_the_bar_never_stops_the_work():
    window = Window()
    terminal = Terminal(window)
    terminal.open_bar("process", 10, "frame")
    terminal.line("above the bar")
    assert "above the bar\n" in window.getvalue()
    window.close()
    for _ in range(10):
        terminal.advance_bar(1)
    terminal.line("lost")
    terminal.close_bar()


def test_lines_go_out_whole():
    stream = io.StringIO()
    terminal = Terminal(stream)
    terminal.line("one")
    terminal.line(["two", "three"])
    assert stream.getvalue() == "one\ntwo\nthree\n"


CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
RUN = (
    StepStarted(2, 5, "b.mp4"),
    StageStarted("Fetching mesh", 2**20, "B"),
    StageProgress(2**20),
    StageFinished(complete=True),
    StageStarted("process", 12),
    StageProgress(4, earlier=True),
    Notice("said"),
    StageProgress(6),
    StageFinished(complete=True),
    StepFinished(),
)


def read_all(descriptor):
    parts = []
    while True:
        try:
            part = os.read(descriptor, 1 << 16)
        except OSError:  # what a terminal says when its other end is closed
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts).decode()


def said_to(ends, *events):
    """What comes out at the reading end of a pair of descriptors."""
    reading, writing = ends
    heard = []
    reader = threading.Thread(target=lambda: heard.append(read_all(reading)))
    reader.start()
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        sink = TerminalSink(Terminal(stream))
        for event in events:
            sink.emit(event)
    reader.join()
    os.close(reading)
    return heard[0]


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_at_a_terminal_bars_end_at_100_percent_whatever_was_estimated():
    import pty

    drawn = said_to(pty.openpty(), *RUN)
    bars = [line.split("\r")[-1] for line in drawn.replace("\r\n", "\n").rstrip("\n").split("\n")]
    assert bars[0].endswith("step 2 of 5: b.mp4")
    assert bars[1].startswith("step 2 of 5, Fetching mesh: 100%|")
    assert bars[2].endswith("said")
    assert bars[3].startswith("step 2 of 5, process: 100%|")
    assert "| 10/10 [" in bars[3]
    assert len(bars) == 4


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_a_bar_of_what_came_to_nothing_stays_where_it_was():
    import pty

    drawn = said_to(pty.openpty(), StageStarted("process", 12), StageProgress(3), StageFinished())
    assert drawn.rstrip().split("\r")[-1].startswith("process:  25%|")


def test_in_a_pipe_there_are_lines_without_control_characters():
    text = said_to(os.pipe(), *RUN)
    assert CONTROL.search(text) is None
    lines = [re.sub(r", [0-9.]+ (MiB|frames)/s$", "", line) for line in text.splitlines()]
    assert lines == ["step 2 of 5: b.mp4", "Fetching mesh: 1.0 of 1.0 MiB", "said", "process: 10 of 10 frames"]


@pytest.mark.parametrize("level", ["warn", "error"])
def test_no_progress_below_info(level):
    window = Window()
    sink = TerminalSink(Terminal(window, level))
    for event in RUN:
        sink.emit(event)
    assert window.getvalue() == ""


def test_an_outer_stage_gets_its_bar_back():
    window = Window()
    sink = TerminalSink(Terminal(window))
    for event in (
        StageStarted("process", 4),
        StageProgress(3),
        *RUN[1:4],
        StageProgress(1),
        StageFinished(complete=True),
    ):
        sink.emit(event)
    last = window.getvalue().rstrip().replace("\n", "\r").split("\r")[-1]
    assert last.startswith("process: 100%|")
    assert "| 4/4 [" in last


def test_what_is_said_at_once_goes_past_the_buffer():
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        stream.write("later")
        Terminal(stream).at_once("now")
        assert os.read(reading, 100) == b"now\n"
    assert os.read(reading, 100) == b"later"
    os.close(reading)
