"""TensorRT compiles once, and a kill does no harm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scripts.gpu_check.graphs import load, noise
from tests.inference.fakes import graph

pytestmark = pytest.mark.gpu


def engine_files(request):
    return sorted(request.options.caches()[0].glob("*.engine"))


@pytest.fixture
def request_of(tensorrt, tmp_path):
    model = graph(tmp_path).path
    return replace(tensorrt, cache=tmp_path / "cache").request(model, "full")


def test_the_second_start_finds_what_the_first_one_compiled(request_of):
    load(request_of).run({"x": np.ones((1, 4), np.float32)})
    (engine,) = engine_files(request_of)
    before = engine.stat().st_mtime_ns
    session = load(request_of)
    for count in (1, 4, 2):
        session.run({"x": np.ones((count, 4), np.float32)})
    assert engine_files(request_of) == [engine]
    assert engine.stat().st_mtime_ns == before


def test_half_an_engine_is_compiled_anew(request_of):
    load(request_of).run({"x": np.ones((1, 4), np.float32)})
    (engine,) = engine_files(request_of)
    whole = engine.stat().st_size
    engine.write_bytes(engine.read_bytes()[: whole // 2])
    rows = np.arange(4, dtype=np.float32).reshape(1, 4)
    np.testing.assert_allclose(load(request_of).run({"x": rows})["y"], 3 * rows + 1, rtol=1e-3)
    (engine,) = engine_files(request_of)
    assert engine.stat().st_size >= whole // 2


def test_precision_has_an_engine_of_its_own(tensorrt, model_path):
    path = model_path("yunet")
    folders = set()
    for precision in ("full", "half"):
        request = tensorrt.request(path, precision)
        session = load(request)
        session.run(noise(session.signature))
        folders.add(request.options.caches()[0])
    assert len(folders) == 2
