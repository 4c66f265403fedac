"""Locks of the system on single bytes of a file, which belong to a process and end with it."""

from __future__ import annotations

import errno
import os
import sys

TAKEN = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
"""What the system says where another process has the lock."""

if sys.platform == "win32":
    import msvcrt
    import threading

    _POSITION = threading.Lock()
    """Held while the position in a file is set for the call after it."""

    def lock_byte(file: int, byte: int) -> bool:
        """Lock one byte of an open file, unless another process has it; whether it is locked now.

        Raises:
            OSError: the file system has no locks.
        """
        with _POSITION:
            os.lseek(file, byte, os.SEEK_SET)
            try:
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            except OSError as error:
                if error.errno in TAKEN:
                    return False
                raise
        return True

    def unlock_byte(file: int, byte: int) -> None:
        """Let go of one byte."""
        with _POSITION:
            os.lseek(file, byte, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def lock_byte(file: int, byte: int) -> bool:
        """Lock one byte of an open file, unless another process has it; whether it is locked now.

        Raises:
            OSError: the file system has no locks.
        """
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except OSError as error:
            if error.errno in TAKEN:
                return False
            raise
        return True

    def unlock_byte(file: int, byte: int) -> None:
        """Let go of one byte."""
        fcntl.lockf(file, fcntl.LOCK_UN, 1, byte)
