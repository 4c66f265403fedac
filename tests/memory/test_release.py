from __future__ import annotations

import ctypes
import sys

import numpy as np
import psutil
import pytest

from facefusion.memory.release import give_back

MEGABYTE = 1 << 20


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs the allocator of glibc"
)
def test_freed_memory_goes_back_to_the_system():
    """Blocks too small to be mapped on their own, and one that stays above them, so that the heap cannot shrink."""
    blocks = [np.ones(64 << 10, np.uint8) for _ in range(1600)]
    above = np.ones(64 << 10, np.uint8)
    full = psutil.Process().memory_info().rss
    blocks.clear()

    give_back()

    assert full - psutil.Process().memory_info().rss > 80 * MEGABYTE
    assert above.sum() == 64 << 10
