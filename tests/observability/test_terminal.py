from __future__ import annotations

import io

import pytest

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
    terminal.line("two\nthree")
    assert stream.getvalue() == "one\ntwo\nthree\n"
