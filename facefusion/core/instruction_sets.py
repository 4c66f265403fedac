"""What the processor can do."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path


@cache
def instruction_sets(root: Path = Path("/")) -> str:
    """What numbers, and the layout of prepared graphs, depend on: system, architecture and the instruction sets.

    Where the system does not tell the latter, the processor's own name stands for them.

    Args:
        root: where ``proc`` lies; another folder in tests.
    """
    kind = f"{platform.system()} {platform.machine()}"
    try:
        lines = (root / "proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return f"{kind} {platform.processor()}"
    flags = next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return f"{kind} {hashlib.sha256(flags.encode()).hexdigest()[:16]}"
