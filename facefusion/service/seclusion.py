"""Keeps what a process holds from others of the same user: its secrets are in its environment and memory."""

from __future__ import annotations

import ctypes
import logging
import sys

logger = logging.getLogger(__name__)

PR_SET_DUMPABLE = 4
"""Of ``prctl`` (Linux, ``include/uapi/linux/prctl.h``)."""


def seclude() -> None:
    """Let no process of the same user read this one's environment and memory, or trace it, where the system can do so.

    A file that takes over the process which looks into it finds no token in ``/proc`` then. Processes that are started
    afterwards can be read as usual.
    """
    if sys.platform != "linux":
        return
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        logger.warning("the environment of this process can be read by others of its user")
