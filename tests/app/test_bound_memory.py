"""A whole step with buffers that stay where graphs run: in main memory, where ONNX Runtime has them too."""

from __future__ import annotations

from pathlib import Path

import pytest

from facefusion.app.engine import Engine
from facefusion.inference.binding import BoundBuffers
from facefusion.inference.providers.base import DeviceMemory
from facefusion.inference.providers.cpu import CpuOptions
from tests.app.conftest import Run


@pytest.mark.parametrize("replayed", [False, True])
def test_buffers_that_stay_change_no_bit_of_a_result(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, replayed: bool
) -> None:
    run(tmp_path / "plain.mp4")
    engine.release_models()
    runs: list[tuple[str, ...]] = []
    bound = BoundBuffers.run

    def counted(self, inputs, options):
        runs.append(tuple(inputs))
        return bound(self, inputs, options)

    monkeypatch.setattr(BoundBuffers, "run", counted)
    monkeypatch.setattr(CpuOptions, "memory", lambda self: DeviceMemory("cpu"))
    monkeypatch.setattr(CpuOptions, "replayed", lambda self: replayed)
    report = run(tmp_path / "bound.mp4")
    engine.release_models()
    assert len(runs) >= report.frames
    assert (tmp_path / "bound.mp4").read_bytes() == (tmp_path / "plain.mp4").read_bytes()
