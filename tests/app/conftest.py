"""The whole program, without the command line, on the repository's own media."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from facefusion.app.engine import Engine
from facefusion.benchmark.settings import BenchmarkSettings
from facefusion.config.schema import Schema
from facefusion.config.state import Snapshot
from facefusion.core.report import RunReport
from facefusion.core.stop import StopToken
from tests.processors.fakes import RecordingSink

DEMO = Path(__file__).parents[2] / "assets" / "demo"
SOURCE = DEMO / "source.jpg"
TARGET = DEMO / "target.mp4"

Run = Callable[..., RunReport]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.release_models()


def settings(engine: Engine, **values: Any) -> Snapshot:
    schema = Schema.of((*engine.settings_groups(), BenchmarkSettings), engine.option_choices())
    return Snapshot(schema, {}, {}).with_values(values)


@pytest.fixture
def sink() -> RecordingSink:
    return RecordingSink()


@pytest.fixture
def run(engine: Engine, model_path: Callable[[str], Path], sink: RecordingSink) -> Run:
    """Run one step; keyword arguments are option values, over the demo's source and its target's first frames."""

    def run_step(output: Path, stop: StopToken | None = None, **values: Any) -> RunReport:
        base: dict[str, Any] = {
            "source_paths": (SOURCE,),
            "target_path": TARGET,
            "output_path": output,
            "models_path": model_path("yunet").parent,
            "trim_frame_end": 10,
        }
        return engine.execute(settings(engine, **(base | values)), sink, stop or StopToken())

    return run_step
