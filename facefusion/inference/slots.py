"""Slots of a graphics card that all processes on it share.

Each slot is a lock of the system on one byte of a file, which ends with the process that holds it, however it ends, so
that none is ever left behind. Who waits for a slot holds the first byte, the turn; who asks takes the turn first. So a
process that runs one graph after the other cannot keep another one out: it finds the turn taken, and comes next.

The file is opened once per process and card, and never closed: closing it would end all locks that the process has.
A process that forks after it has used a card cannot use it in the child, nor can CUDA.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from facefusion.core.stop import POLL_SECONDS
from facefusion.inference.byte_lock import lock_byte, unlock_byte

T = TypeVar("T")

TURN = 0
"""Byte of the one who comes next; those of the slots follow."""

FIRST_PAUSE, LONGEST_PAUSE = 0.0002, 0.001
"""Seconds between looks whether another process let go; runs take milliseconds."""


class CardSlots:
    """Slots of one card. Thread-safe. Made by :func:`card_slots`.

    Args:
        file: open for reading and writing.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._asking = threading.Lock()
        self._mine: set[int] = set()
        """Bytes that threads of this process hold; the system does not tell threads apart."""

    @contextmanager
    def held(self, count: int, check: Callable[[], None]) -> Iterator[None]:
        """Wait for one of the first ``count`` slots and hold it.

        Args:
            count: of slots. Others may count with another number, as each sizes it by the memory that it finds free.
            check: called while waiting; may raise.
        """
        while not self._asking.acquire(timeout=POLL_SECONDS):
            check()
        try:
            _until(lambda: self._take(TURN), check)
            try:
                # From the last on, so that those with fewer slots find theirs free.
                slot = _until(lambda: next(filter(self._take, range(count, TURN, -1)), None), check)
            finally:
                self._give_back(TURN)
        finally:
            self._asking.release()
        try:
            yield
        finally:
            self._give_back(slot)

    def _take(self, byte: int) -> bool:
        if byte in self._mine or not lock_byte(self._file, byte):
            return False
        self._mine.add(byte)
        return True

    def _give_back(self, byte: int) -> None:
        unlock_byte(self._file, byte)
        self._mine.discard(byte)


def card_slots(folder: Path, card: str) -> CardSlots:
    """The slots of a card, one object for all that ask in this process.

    Args:
        folder: in which all processes that share the card keep its file; is made where it is not there.
        card: its UUID.

    Raises:
        OSError: the file cannot be written, or its file system has no locks.
    """
    with _OPENING:
        return _opened(folder.resolve(), card)


_OPENING = threading.Lock()
"""The cache alone would let two threads open the file twice, whose slots would then be counted apart."""


@functools.cache
def _opened(folder: Path, card: str) -> CardSlots:
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / f"{card}.lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        if lock_byte(file, TURN):
            unlock_byte(file, TURN)
    except OSError:
        os.close(file)
        raise
    return CardSlots(file)


def _until(attempt: Callable[[], T | None], check: Callable[[], None]) -> T:
    pause = FIRST_PAUSE
    while not (got := attempt()):
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
        check()
    return got
