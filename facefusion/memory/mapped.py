"""Files that are mapped into memory: they become resident piece by piece, as they are read."""

from __future__ import annotations

from pathlib import Path

SMAPS = Path("/proc/self/smaps")


def unread_bytes(name: str, smaps: Path = SMAPS) -> int:
    """How much of the mapped files of a name is not resident yet; 0 where the system does not tell.

    Args:
        name: of the files, without folders.
        smaps: the kernel's list of mappings, see ``proc_pid_smaps(5)``; another file in tests.
    """
    try:
        lines = smaps.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return 0
    unread, counts = 0, False
    for line in lines:
        key, _, rest = line.partition(" ")
        if not key.endswith(":"):  # a mapping begins: its range, rights, offset, device, inode and path
            counts = line.endswith(f"/{name}")
        elif counts and key == "Size:":
            unread += _bytes(rest)
        elif counts and key == "Rss:":
            unread -= _bytes(rest)
    return unread


def _bytes(kilobytes: str) -> int:
    return int(kilobytes.split(maxsplit=1)[0]) << 10
