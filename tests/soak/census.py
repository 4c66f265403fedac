"""What a process holds."""

from __future__ import annotations

import gc
import os
import threading
import tracemalloc
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import psutil

from facefusion.inference.session import OrtSession
from facefusion.memory.release import give_back


@dataclass(frozen=True)
class Census:
    """What was counted when all garbage was collected."""

    resident: int
    """Bytes of memory."""
    traced: int
    """Bytes that Python's own allocators gave out, where they are traced; else 0."""
    threads: tuple[str, ...]
    """Names of Python's threads."""
    system_threads: int
    """All threads of the process, a library's too."""
    files: tuple[str, ...]
    """What open descriptors lead to."""
    left: tuple[str, ...]
    """Files below the folders looked at."""
    sessions: int
    """Sessions of ONNX Runtime that are alive."""
    objects: dict[str, int]
    """Objects that the collector knows, by type."""


def take_census(folders: tuple[Path, ...]) -> Census:
    """Count now.

    Args:
        folders: where nothing may be left behind.
    """
    gc.collect()
    give_back()
    process = psutil.Process()
    known = gc.get_objects()
    objects = Counter(f"{type(one).__module__}.{type(one).__qualname__}" for one in known)
    sessions = sum(type(one) is OrtSession for one in known)
    del known
    return Census(
        resident=process.memory_info().rss,
        traced=tracemalloc.get_traced_memory()[0],
        threads=tuple(sorted(thread.name for thread in threading.enumerate())),
        system_threads=process.num_threads(),
        files=tuple(sorted(_open_files())),
        left=tuple(sorted(str(path) for folder in folders for path in folder.rglob("*") if path.is_file())),
        sessions=sessions,
        objects=dict(objects),
    )


def _open_files() -> list[str]:
    """What descriptors lead to; none where the system does not tell."""
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        return []
    found = []
    for name in os.listdir(folder):  # noqa: PTH208 - names, of which one is gone when it is looked at
        try:
            found.append(str((folder / name).readlink()))
        except FileNotFoundError:
            continue
    return found
