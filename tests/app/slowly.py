"""The program with a part that is slower than all others: ``python -m tests.app.slowly PART WORDS...``."""

from __future__ import annotations

import sys
import time
from typing import Any

from facefusion.cli.main import main
from facefusion.media.segment import SegmentEncoder
from facefusion.pipeline.frames import FrameWork

SECONDS = 0.1
"""That it takes longer for each frame."""


def slow_down(owner: type, name: str) -> None:
    """Let a method wait before it does its work."""
    quick = getattr(owner, name)

    def slowly(*given: Any) -> Any:
        time.sleep(SECONDS)
        return quick(*given)

    setattr(owner, name, slowly)


PARTS: dict[str, tuple[type, str]] = {"encoder": (SegmentEncoder, "write"), "processor": (FrameWork, "process")}

if __name__ == "__main__":
    slow_down(*PARTS[sys.argv[1]])
    raise SystemExit(main(sys.argv[2:]))
