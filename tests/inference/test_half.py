from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from facefusion.core.errors import ModelError, ResourceError
from facefusion.inference.half import half_graph
from tests.inference.fakes import graph

ROWS = np.arange(8, dtype=np.float32).reshape(2, 4)


def run(path, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, inputs)


def test_weights_are_half_while_inputs_and_outputs_stay(tmp_path):
    copy = half_graph(graph(tmp_path).path, tmp_path / "half" / "copy")
    assert copy == tmp_path / "half" / "copy" / "graph.onnx"
    made = onnx.load(copy).graph
    assert {constant.data_type for constant in made.initializer} == {onnx.TensorProto.FLOAT16}
    ends = [entry.type.tensor_type.elem_type for entry in (*made.input, *made.output)]
    assert ends == [onnx.TensorProto.FLOAT] * 2
    np.testing.assert_allclose(run(copy, {"x": ROWS})[0], 3 * ROWS + 1, rtol=1e-3)


def test_a_copy_is_made_once(tmp_path):
    model = graph(tmp_path).path
    copy = half_graph(model, tmp_path / "copy")
    before = copy.stat().st_mtime_ns
    model.unlink()
    assert half_graph(model, tmp_path / "copy") == copy
    assert copy.stat().st_mtime_ns == before


def test_threads_that_ask_at_once_get_one_whole_copy(tmp_path):
    model = graph(tmp_path).path
    with ThreadPoolExecutor(6) as threads:
        (copy,) = set(threads.map(lambda _: half_graph(model, tmp_path / "copy"), range(12)))
    np.testing.assert_allclose(run(copy, {"x": ROWS})[0], 3 * ROWS + 1, rtol=1e-3)


def test_what_a_killed_process_left_does_no_harm(tmp_path):
    model, folder = graph(tmp_path).path, tmp_path / "copy"
    folder.mkdir()
    (folder / "graph.onnx").write_bytes(b"half a fi")
    np.testing.assert_allclose(run(half_graph(model, folder), {"x": ROWS})[0], 3 * ROWS + 1, rtol=1e-3)


def test_a_full_disk_leaves_nothing_that_is_taken_for_a_copy(tmp_path, monkeypatch):
    model, folder = graph(tmp_path).path, tmp_path / "copy"
    write = Path.write_bytes

    def run_full(path, content):
        write(path, content[:9])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", run_full)
    with pytest.raises(ResourceError) as refused:
        half_graph(model, folder)
    assert str(refused.value) == (
        f"the copy of affine.onnx in half precision cannot be written to {folder} (No space left on device). "
        "Free some space there, or leave --inference-precision at auto."
    )
    monkeypatch.setattr(Path, "write_bytes", write)
    np.testing.assert_allclose(run(half_graph(model, folder), {"x": ROWS})[0], 3 * ROWS + 1, rtol=1e-3)


def test_a_file_that_is_no_graph_is_named(tmp_path):
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"\x0f this is no graph")
    with pytest.raises(ModelError) as refused:
        half_graph(path, tmp_path / "copy")
    assert refused.value.fault.startswith(f"{path} cannot be converted to half precision (")
    assert refused.value.remedy == (
        "Leave --inference-precision at auto, or choose tensorrt with --execution-providers, which does without."
    )
    assert not list((tmp_path / "copy").glob("*.onnx"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "half").write_text("a file")
    with pytest.raises(ResourceError, match=r"affine\.onnx in half precision cannot be written to .*copy"):
        half_graph(graph(tmp_path).path, tmp_path / "half" / "copy")


@pytest.mark.parametrize(("name", "tolerance"), [("yunet", 2e-3), ("face_mesh", 2e-3), ("open_nsfw", 5e-3)])
def test_embedded_models_come_near_their_numbers_in_half(tmp_path, model_path, name, tolerance):
    path = model_path(name)
    copy = half_graph(path, tmp_path / "copy")
    generator = np.random.default_rng(0)
    entries = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).get_inputs()
    inputs = {
        entry.name: generator.random([size if isinstance(size, int) else 1 for size in entry.shape], np.float32)
        for entry in entries
    }
    for half, full in zip(run(copy, inputs), run(path, inputs), strict=True):
        assert np.abs(half - full).max() <= tolerance * max(1.0, float(np.abs(full).max()))
