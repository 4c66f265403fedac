"""Turns Ctrl-C and a request to end into a stop of the work."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

from facefusion.core.stop import StopToken
from facefusion.observability.terminal import Terminal

REASONS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "a request to end (SIGTERM)"}
if sys.platform != "win32":
    REASONS[signal.SIGHUP] = "the end of its terminal (SIGHUP)"


@contextlib.contextmanager
def stop_on_signals(stop: StopToken, terminal: Terminal) -> Iterator[None]:
    """While it is open, the first signal asks the work to stop, the second ends the process at once.

    Does nothing outside the main thread, where Python allows no handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, _frame: FrameType | None) -> None:
        if stop.requested:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        stop.request(REASONS[signal.Signals(number)])
        terminal.at_once("Stopping; once more to end at once.")

    # A run under nohup is to outlive its terminal.
    heard = [number for number in REASONS if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
