"""The whole program, without the command line, on the repository's own media."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import onnx
import pytest

from facefusion.app.calibration import usable_cores
from facefusion.app.engine import Engine
from facefusion.benchmark.settings import BenchmarkSettings
from facefusion.config.schema import Schema
from facefusion.config.state import Snapshot
from facefusion.core.report import RunReport
from facefusion.core.stop import StopToken
from facefusion.inference.calibration import ThreadPlans
from tests.processors.fakes import RecordingSink

DEMO = Path(__file__).parents[2] / "assets" / "demo"
SOURCE = DEMO / "source.jpg"
TARGET = DEMO / "target.mp4"

Run = Callable[..., RunReport]


@pytest.fixture(autouse=True)
def plans(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> ThreadPlans:
    """Nothing that was measured on this machine counts, and nothing is remembered for it."""
    plans = ThreadPlans(tmp_path_factory.mktemp("plans") / "threads.json", "1", usable_cores())
    for module in ("calibration", "floor", "step"):
        monkeypatch.setattr(f"facefusion.app.{module}.thread_plans", lambda: plans)
    return plans


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.release_models()


def settings(engine: Engine, **values: Any) -> Snapshot:
    groups = (*engine.settings_groups(), BenchmarkSettings)
    schema = Schema.of(groups, engine.option_choices(), engine.awaited_choices())
    return Snapshot(schema, {}, {}).with_values({"marking": "off"} | values)


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


@pytest.fixture
def models(tmp_path: Path, model_path: Callable[[str], Path]) -> Path:
    """A folder with the embedded models, for more to be put in."""
    folder = tmp_path / "models"
    folder.mkdir()
    for path in model_path("yunet").parent.iterdir():
        # What is hidden is no model but a note of the folder, and would be written to through the link.
        if path.is_file() and not path.name.startswith("."):
            (folder / path.name).symlink_to(path)
    return folder


def put(folder: Path, name: str, graph: onnx.ModelProto) -> None:
    """A graph and its checksum beside it, as FaceFusion keeps them."""
    content = graph.SerializeToString()
    (folder / f"{name}.onnx").write_bytes(content)
    (folder / f"{name}.hash").write_text(f"{zlib.crc32(content):08x}", encoding="ascii")


class Still:
    """An image with one face, and what comes out of it."""

    def __init__(self, run: Run, folder: Path, models: Path) -> None:
        with av.open(str(TARGET)) as container:
            frame = next(container.decode(video=0)).to_ndarray(format="bgr24")
        self.before = cv2.resize(frame, (480, 270), interpolation=cv2.INTER_AREA).astype(np.uint8)
        self.path, self._out = folder / "frame.png", folder / "out.png"
        cv2.imwrite(str(self.path), self.before)
        self._run, self._models = run, models

    def report(self, **values: object) -> RunReport:
        base = {"target_path": self.path, "trim_frame_end": None, "models_path": self._models}
        return self._run(self._out, **(base | values))

    def after(self, **values: object) -> np.ndarray:
        self.report(**values)
        return self.result

    @property
    def result(self) -> np.ndarray:
        """Of the last run."""
        pixels = cv2.imread(str(self._out))
        assert pixels is not None
        return pixels


@pytest.fixture
def still(run: Run, tmp_path: Path, models: Path) -> Still:
    return Still(run, tmp_path, models)
