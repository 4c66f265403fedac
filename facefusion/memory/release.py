"""Giving memory back to the system."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it brings NumPy along, which the doctor must do without
    from facefusion.core.values import Size

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""Numbers of ``mallopt``, from glibc's ``malloc.h``."""

MAPPED_BYTES, MAPPED_BYTES_OF_SMALL = 2_000_000, 32 << 20
"""Blocks from this size on go back as soon as they are freed: where frames are large, just below a chroma plane of a
2160p frame, and elsewhere the most that glibc takes."""

FREE_BYTES, FREE_BYTES_OF_SMALL = 4 << 20, 32 << 20
"""Free memory at the end of the heap that is kept for the next block."""

FEWEST_ARENAS = 2

PR_SET_THP_DISABLE = 41
"""Number of ``prctl``, from Linux's ``prctl.h``."""

HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")

ON_REQUEST = "[madvise]"
"""What stands there where huge pages are for those that ask for them."""


def keep_little() -> None:
    """Make the allocator of this process return large blocks as they are freed, in few arenas. Call it before threads.

    Left to itself glibc keeps blocks up to 32 MB once one of that size was freed, in up to eight arenas for each core,
    and frames of different ages leave holes between what stays: with 2160p 60 to 100 MB more, for some 3 ms of page
    faults in a frame. Where the environment tells the allocator anything, that holds. Elsewhere it does nothing.
    """
    _set(
        {
            M_MMAP_THRESHOLD: MAPPED_BYTES,
            M_TRIM_THRESHOLD: FREE_BYTES,
            M_ARENA_MAX: max(FEWEST_ARENAS, os.cpu_count() or FEWEST_ARENAS),
        }
    )


def suit_frames(size: Size) -> None:
    """Make the allocator return large blocks as they are freed where frames are large, and else keep them for the next.

    Four faces in a frame of 1080p, measured: keeping takes 1 to 2 % more memory, and 3 % less time, since three of four
    page faults are gone. Where the environment tells the allocator anything, that holds.

    Args:
        size: of the frames to come.
    """
    if size.is_large:
        _set({M_MMAP_THRESHOLD: MAPPED_BYTES, M_TRIM_THRESHOLD: FREE_BYTES})
    else:
        _set({M_MMAP_THRESHOLD: MAPPED_BYTES_OF_SMALL, M_TRIM_THRESHOLD: FREE_BYTES_OF_SMALL})


def _set(options: Mapping[int, int]) -> None:
    if sys.platform != "linux" or any(name.startswith(("MALLOC_", "GLIBC_TUNABLES")) for name in os.environ):
        return
    mallopt = _function("mallopt")
    if mallopt is not None:
        for option, value in options.items():
            mallopt(option, value)


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
