"""Turns Ctrl-C and a request to end into a stop of the work."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import FrameType
from typing import TypeVar

from facefusion.core.stop import POLL_SECONDS, StopToken
from facefusion.observability.terminal import Terminal

ResultT = TypeVar("ResultT")

REASONS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "a request to end (SIGTERM)"}
if sys.platform != "win32":
    REASONS[signal.SIGHUP] = "the end of its terminal (SIGHUP)"

SHELL_BASE = 128
"""What a shell adds to a signal's number to tell by an exit code that it ended a process."""


def work_listening(work: Callable[[], ResultT], stop: StopToken, terminal: Terminal) -> ResultT:
    """Do some work; meanwhile the first signal asks it to stop, the second ends the process at once.

    The work has a thread of its own, since Python hears signals on the main one and only between two of its own
    steps: a library that loads a large model or reads a slow disk would keep the user waiting for any answer. Where
    this is not the main thread, which alone may have handlers, the work is done as it is.

    Raises:
        BaseException: what the work raises.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    with stop_on_signals(stop, terminal):
        return _beside(work)


@contextlib.contextmanager
def stop_on_signals(stop: StopToken, terminal: Terminal) -> Iterator[None]:
    """While it is open, the first signal asks the work to stop, the second ends the process at once.

    For the main thread.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        if stop.requested:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
            # Reached by the first process of a container only, to which signals without a handler mean nothing.
            os._exit(SHELL_BASE + number)  # noqa: TID251 - at once is at once
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


def _beside(work: Callable[[], ResultT]) -> ResultT:
    outcome: Future[ResultT] = Future()

    def do() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller
            outcome.set_exception(error)

    thread = threading.Thread(target=do, name="work")
    try:
        thread.start()
    except RuntimeError:  # Python's own word for a thread that the system refuses
        return work()
    while thread.is_alive():
        thread.join(POLL_SECONDS)
    return outcome.result()
