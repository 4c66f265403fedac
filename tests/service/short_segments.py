"""The program with segments of a few frames: ``python -m tests.service.short_segments FRAMES COMMAND ...``."""

from __future__ import annotations

import sys

from facefusion.app import video
from facefusion.cli.main import main

if __name__ == "__main__":
    length = int(sys.argv[1])
    vars(video)["segment_frames"] = lambda _, __: length
    raise SystemExit(main(sys.argv[2:]))
