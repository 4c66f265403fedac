from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest

from facefusion.memory.mapped import unread_bytes

SMAPS = """\
7f0000000000-7f0000400000 r--p 00000000 fe:00 12 /kept/a/weights.bin
Size:               4096 kB
KernelPageSize:        4 kB
Rss:                1024 kB
VmFlags: rd mr mw me
7f0000500000-7f0000600000 r--p 00000000 fe:00 13 /kept/my weights.bin
Size:               1024 kB
Rss:                   0 kB
7f0000600000-7f0000700000 r--p 00000000 fe:00 14 /kept/b c/weights.bin
Size:               1024 kB
Rss:                   0 kB
7f0000700000-7f0000900000 rw-p 00000000 00:00 0
Size:               2048 kB
Rss:                   0 kB
"""


def test_what_is_left_of_the_files_of_a_name_is_counted(tmp_path: Path) -> None:
    smaps = tmp_path / "smaps"
    smaps.write_text(SMAPS)
    assert unread_bytes("weights.bin", smaps) == (3072 + 1024) << 10
    assert unread_bytes("other.bin", smaps) == 0
    assert unread_bytes("weights.bin", tmp_path / "missing") == 0


@pytest.mark.skipif(sys.platform != "linux", reason="smaps is Linux's")
def test_a_file_is_less_unread_the_more_of_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "of_this_test.bin"
    path.write_bytes(bytes(8 << 20))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        mapped.madvise(mmap.MADV_RANDOM)  # or the kernel maps what lies around a page as well
        assert unread_bytes(path.name) == 8 << 20
        assert sum(mapped[: 4 << 20]) == 0
        assert unread_bytes(path.name) <= 4 << 20
    assert unread_bytes(path.name) == 0
