"""Giving memory back to the system."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""Numbers of ``mallopt``, from glibc's ``malloc.h``."""

MAPPED_BYTES = 2_000_000
"""Blocks from this size on go back as soon as they are freed; just below a chroma plane of a 2160p frame."""

FREE_BYTES = 4 << 20
"""Free memory at the end of the heap that is kept for the next block."""

FEWEST_ARENAS = 2

PR_SET_THP_DISABLE = 41
"""Number of ``prctl``, from Linux's ``prctl.h``."""

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")

ON_REQUEST = "[madvise]"
"""What stands there where huge pages are for those that ask for them."""


def keep_little() -> None:
    """Make the allocator of this process return large blocks as they are freed. Call it before threads begin.

    Left to itself glibc keeps blocks up to 32 MB once one of that size was freed, in up to eight arenas for each core,
    and frames of different ages leave holes between what stays: with 2160p 60 to 100 MB more, for some 3 ms of page
    faults in a frame. Where the environment tells the allocator anything, that holds. Elsewhere it does nothing.
    """
    if sys.platform != "linux" or any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return
    mallopt = _function("mallopt")
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)
        mallopt(M_TRIM_THRESHOLD, FREE_BYTES)
        mallopt(M_ARENA_MAX, max(FEWEST_ARENAS, os.cpu_count() or FEWEST_ARENAS))


def refuse_huge_pages(mode: Path = HUGE_PAGES) -> None:
    """Keep libraries of this process from getting memory in pages of 2 MB. Call it before threads begin.

    x264 asks for them, and rounds each of its frames up to such pages for it. Measured without them: 20 MB less at 720p
    and 1080p and 30 MB less at 2160p, the same packets, and the processor time of a whole run the same at 720p and a
    twentieth less at 2160p, where most of a large page was cleared for nobody. Where the system gives them unasked, for
    which nothing was measured, it stays so.

    Args:
        mode: the kernel's word on them; another file in tests.
    """
    try:
        is_on_request = ON_REQUEST in mode.read_text(encoding="ascii")
    except OSError:  # no Linux, or one without them
        return
    if is_on_request and (prctl := _function("prctl")) is not None:
        prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)


def give_back() -> None:
    """Return what was freed to the system, where the allocator keeps it for itself.

    glibc keeps freed memory in one arena per thread; after each unloading of all models that was some 200 MB (measured:
    430 to 560 MB resident without this call, 230 to 290 MB with it, over forty steps). Elsewhere it does nothing.
    """
    if sys.platform == "linux":
        trim = _function("malloc_trim")
        if trim is not None:
            trim(0)


def _function(name: str) -> Any | None:  # noqa: ANN401 - a foreign function
    return getattr(ctypes.CDLL(None), name, None)  # musl has neither
