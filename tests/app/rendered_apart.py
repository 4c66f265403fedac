"""Some segments of a step, rendered in a process of their own: ``python -m ... FOLDER LENGTH NUMBER...``.

``step.json`` in the folder holds the plan and the values of the options, paths as text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from facefusion.app import video
from facefusion.app.engine import Engine
from facefusion.app.step_plan import StepPlan
from facefusion.core.stop import StopToken
from tests.app.conftest import settings
from tests.processors.fakes import RecordingSink

TOKEN = "a1"

if __name__ == "__main__":
    folder, length = Path(sys.argv[1]), int(sys.argv[2])
    vars(video)["segment_frames"] = lambda _, __: length
    step = json.loads((folder / "step.json").read_text())
    values = dict(step["values"])
    values["source_paths"] = tuple(map(Path, values["source_paths"]))
    for name in ("target_path", "output_path", "models_path"):
        values[name] = Path(values[name])
    engine = Engine()
    plan = StepPlan.from_json(step["plan"])
    for number in map(int, sys.argv[3:]):
        engine.render(settings(engine, **values), plan, number, folder, TOKEN, RecordingSink(), StopToken())
    engine.release_models()
