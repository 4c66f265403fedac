"""Files that are mapped into memory: they become resident piece by piece, as they are read."""

from __future__ import annotations

import re
from pathlib import Path

SMAPS = Path("/proc/self/smaps")


def unread_bytes(name: str, smaps: Path = SMAPS) -> int:
    """How much of the mapped files of a name is not resident yet; 0 where the system does not tell.

    Args:
        name: of the files, without folders.
        smaps: the kernel's list of mappings, see ``proc_pid_smaps(5)``; another file in tests.
    """
    try:
        content = smaps.read_bytes()
    except OSError:
        return 0
    # A list of some 40 000 lines, of which a few mappings count.
    mapping = re.compile(rb"/%s\nSize: +(\d+) kB\n(?:.*\n)*?Rss: +(\d+) kB\n" % re.escape(name.encode()))
    return sum(int(size) - int(resident) for size, resident in mapping.findall(content)) << 10
