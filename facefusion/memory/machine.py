"""How large this machine is, as far as this process is concerned.

Everything that depends on cores or memory asks a :class:`Machine`, never the operating system: in a container the
machine is what the container may use, and in a test it is whatever the test says.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import psutil

_NO_LIMIT = 1 << 60
"""Control groups of version 1 write "no limit" as a number near 2**63, rounded to pages."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What this process may use."""

    cores: float
    """Processors: those it may run on, cut by the control group's quota. May be a fraction; above 0."""
    memory: int
    """Bytes of RAM, cut by the control group's limit."""
    available: int
    """Bytes of RAM not in use by anybody when this was read; at most ``memory``."""
    system: str
    """``Linux``, ``Windows`` or ``Darwin``."""


def read_machine(root: Path = Path("/")) -> Machine:
    """Read the size of this machine, container limits included.

    Args:
        root: where ``proc`` and ``sys`` lie; another folder in tests.
    """
    ram = psutil.virtual_memory()
    system = platform.system()
    groups = _control_groups(root) if system == "Linux" else []
    cores = min([float(_usable_processors()), *(group.cores for group in groups if group.cores is not None)])
    memory, available = int(ram.total), int(ram.available)
    for group in groups:
        if group.memory is not None:
            memory = min(memory, group.memory)
            available = min(available, max(0, group.memory - group.memory_used))
    return Machine(cores=cores, memory=memory, available=min(available, memory), system=system)


def _usable_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class _Limits:
    """What one control group allows; none where it sets no limit."""

    cores: float | None
    memory: int | None
    memory_used: int


def _control_groups(root: Path) -> list[_Limits]:
    """Limits of the groups this process is in and of all groups above them: each of them holds."""
    memberships = _read(root / "proc/self/cgroup")
    found: list[_Limits] = []
    for line in (memberships or "").splitlines():
        _, controllers, path = line.split(":", 2)
        names = controllers.split(",")
        if controllers == "":
            for mount in ("sys/fs/cgroup", "sys/fs/cgroup/unified"):
                found += [_version_2(folder) for folder in _upward(root / mount, path)]
        elif "memory" in names:
            found += [_version_1_memory(folder) for folder in _upward(root / "sys/fs/cgroup/memory", path)]
        elif "cpu" in names:
            for mount in (f"sys/fs/cgroup/{controllers}", "sys/fs/cgroup/cpu"):
                found += [_version_1_cpu(folder) for folder in _upward(root / mount, path)]
    return found


def _upward(mount: Path, path: str) -> list[Path]:
    """Folders from the mount point down to the group; in a container the lower ones are often not visible."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    return [mount.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]


def _version_2(folder: Path) -> _Limits:
    quota = (_read(folder / "cpu.max") or "max").split()
    cores = int(quota[0]) / int(quota[1]) if len(quota) == 2 and quota[0] != "max" else None
    # Above memory.high nothing is killed, but all is slowed down until it hardly moves.
    limits = [(_read(folder / name) or "max").strip() for name in ("memory.max", "memory.high")]
    return _Limits(
        cores=cores,
        memory=min((int(limit) for limit in limits if limit != "max"), default=None),
        memory_used=_used(folder, usage="memory.current", reclaimable="inactive_file"),
    )


def _version_1_memory(folder: Path) -> _Limits:
    limit = int(_read(folder / "memory.limit_in_bytes") or _NO_LIMIT)
    return _Limits(
        cores=None,
        memory=limit if limit < _NO_LIMIT else None,
        memory_used=_used(folder, usage="memory.usage_in_bytes", reclaimable="total_inactive_file"),
    )


def _version_1_cpu(folder: Path) -> _Limits:
    quota = int(_read(folder / "cpu.cfs_quota_us") or -1)
    period = int(_read(folder / "cpu.cfs_period_us") or 100_000)
    return _Limits(cores=quota / period if quota > 0 else None, memory=None, memory_used=0)


def _used(folder: Path, *, usage: str, reclaimable: str) -> int:
    """Bytes in use, without the file cache that the kernel gives back when asked."""
    used = int(_read(folder / usage) or 0)
    for line in (_read(folder / "memory.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name == reclaimable:
            return max(0, used - int(value))
    return used


def _read(path: Path) -> str | None:
    """The text of a file of ``proc`` or ``sys``; none where this system or container has no such file."""
    try:
        return path.read_text()
    except OSError:
        return None
