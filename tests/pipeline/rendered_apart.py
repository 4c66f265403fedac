"""Some segments of the stage's video, rendered in a process of their own: ``python -m ... FOLDER NUMBER...``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from facefusion.core.stop import StopToken
from facefusion.memory.meter import MemoryMeter
from facefusion.pipeline.division import DividedVideo
from facefusion.pipeline.outline import Outline
from facefusion.pipeline.segment_files import put_segment, segment_path
from tests.pipeline.stage import Stage

TOKEN = "apart"
PLAN = "0" * 64

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    stage = Stage(folder)
    outline = Outline.from_json(json.loads((folder / "outline.json").read_text()))
    for number in map(int, sys.argv[2:]):
        info, plan, work = stage.parts()
        video = DividedVideo(info, plan, outline)
        path = segment_path(folder, number, TOKEN)
        with MemoryMeter(1 << 40) as meter:
            made = video.render(number, path, work, meter, stage.sink, StopToken())
        put_segment(folder, number, TOKEN, PLAN, made, {})
