"""The program with a part that does not behave: ``python -m tests.app.spoiled "PART" WORDS...``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from facefusion.cli.main import main
from facefusion.media.segment import SegmentEncoder
from facefusion.pipeline.frames import FrameWork

SLOW_SECONDS = 0.1
LEAK_SECONDS = 0.2
LEAK_BYTES, BOLT_BYTES = 16 << 20, 4 << 30

leaked: list[object] = []


def leak() -> None:
    """Keep more with each frame."""
    leaked.append(np.ones(LEAK_BYTES, np.uint8))
    time.sleep(LEAK_SECONDS)


PARTS: dict[str, tuple[type, str, Callable[[], object]]] = {
    "slow encoder": (SegmentEncoder, "write", lambda: time.sleep(SLOW_SECONDS)),
    "slow processor": (FrameWork, "process", lambda: time.sleep(SLOW_SECONDS)),
    "leak": (FrameWork, "process", leak),
    "bolt": (FrameWork, "process", lambda: np.ones(BOLT_BYTES, np.uint8)),
}
"""What comes before which method."""


def spoil(owner: type, name: str, first: Callable[[], object]) -> None:
    """Let something happen before each call of a method."""
    sound = getattr(owner, name)

    def spoiled(*given: Any) -> Any:
        first()
        return sound(*given)

    setattr(owner, name, spoiled)


if __name__ == "__main__":
    spoil(*PARTS[sys.argv[1]])
    raise SystemExit(main(sys.argv[2:]))
