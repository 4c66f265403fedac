from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import numpy as np
import psutil
import pytest

from facefusion.memory.release import give_back, refuse_huge_pages

MEGABYTE = 1 << 20


HOLES = """
import numpy as np
import psutil
import sys
from facefusion.core.values import Size
from facefusion.memory.release import keep_little, suit_frames

keep_little()
for height in map(int, sys.argv[1:]):
    suit_frames(Size(height * 16 // 9, height))
np.ones(30 << 20, np.uint8)
blocks = [np.ones(3 << 20, np.uint8) for _ in range(40)]
full = psutil.Process().memory_info().rss
del blocks[::2]
print((full - psutil.Process().memory_info().rss) >> 20)
"""
"""A large block is freed, then every other one of 40 blocks of 3 MB."""

needs_glibc = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs the allocator of glibc"
)


def freed_megabytes(*heights: int, **environment: str) -> int:
    told = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    command = [sys.executable, "-c", HOLES, *map(str, heights)]
    return int(subprocess.run(command, capture_output=True, check=True, text=True, env=told | environment).stdout)


@needs_glibc
def test_large_blocks_go_back_as_they_are_freed():
    assert freed_megabytes() >= 58


@needs_glibc
def test_blocks_are_kept_for_the_next_where_frames_are_not_large():
    assert freed_megabytes(1080) <= 8
    assert freed_megabytes(1080, 2160) >= 58


@needs_glibc
def test_what_the_environment_tells_the_allocator_holds():
    assert freed_megabytes(2160, MALLOC_MMAP_THRESHOLD_="33554432") <= 8


@needs_glibc
def test_freed_memory_goes_back_to_the_system():
    """Blocks too small to be mapped on their own, and one that stays above them, so that the heap cannot shrink."""
    blocks = [np.ones(64 << 10, np.uint8) for _ in range(1600)]
    above = np.ones(64 << 10, np.uint8)
    full = psutil.Process().memory_info().rss
    blocks.clear()

    give_back()

    assert full - psutil.Process().memory_info().rss > 80 * MEGABYTE
    assert above.sum() == 64 << 10


REFUSED = """
import ctypes
import pathlib
import sys
from facefusion.memory.release import refuse_huge_pages

ask = lambda: ctypes.CDLL(None).prctl(42, 0, 0, 0, 0)
ctypes.CDLL(None).prctl(41, 0, 0, 0, 0)
before = ask()
refuse_huge_pages(pathlib.Path(sys.argv[1]))
print(before, ask())
"""
"""42 is ``PR_GET_THP_DISABLE``; 41 sets it, and a process inherits it."""


@pytest.mark.skipif(sys.platform != "linux", reason="huge pages of this kind are Linux's")
@pytest.mark.parametrize(
    ("mode", "said"),
    [("always [madvise] never", "0 1"), ("[always] madvise never", "0 0"), ("always madvise [never]", "0 0")],
)
def test_huge_pages_are_refused_where_they_are_for_those_that_ask(tmp_path, mode, said):
    path = tmp_path / "enabled"
    path.write_text(f"{mode}\n")
    command = [sys.executable, "-c", REFUSED, str(path)]
    assert subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip() == said


def test_where_there_is_no_word_on_huge_pages_nothing_is_done(tmp_path):
    refuse_huge_pages(tmp_path / "missing")
