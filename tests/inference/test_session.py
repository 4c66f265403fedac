from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper
from onnx.external_data_helper import set_external_data
from onnxruntime.capi import onnxruntime_pybind11_state as runtime_state

from facefusion.core.errors import ModelError, ProviderError
from facefusion.inference.execution import Device
from facefusion.inference.probe import probe
from facefusion.inference.runtime import read_runtime
from facefusion.inference.session import DeviceMemoryError, ModelFile, OrtSession
from tests.inference.fakes import execution, graph

ROWS = np.arange(8, dtype=np.float32).reshape(2, 4)


def request(model, *providers, threads=1, cache=None):
    plan = execution(*providers) if cache is None else execution(*providers, cache=cache)
    return plan.requests(replace(model, threads=threads), "ab" * 32, Device(0))[0]


class StubSession:
    """What ONNX Runtime would give, with the providers of our choice."""

    def __init__(self, obtained, error=None):
        self.obtained = obtained
        self.error = error

    def get_providers(self):
        return self.obtained

    def get_inputs(self):
        return []

    def get_outputs(self):
        return []

    def run(self, names, inputs, options):
        raise self.error

    def io_binding(self):
        return None

    def run_with_iobinding(self, binding, options):
        raise self.error


@pytest.fixture
def stub(monkeypatch):
    """Replace ONNX Runtime's session; returns a function that sets what it gives or raises."""

    def install(obtained=(), error=None, run_error=None):
        made = []

        def make(path, options, providers, enable_fallback):
            made.append((path, options, providers, enable_fallback))
            if error is not None:
                raise error
            return StubSession(list(obtained), run_error)

        monkeypatch.setattr(onnxruntime, "InferenceSession", make)
        return made

    return install


@pytest.fixture
def bare_cuda(monkeypatch):
    """CUDA without the loading of its libraries."""
    from facefusion.inference.providers.registry import PROVIDERS

    monkeypatch.setitem(PROVIDERS._providers, "cuda", replace(PROVIDERS["cuda"], prepare=None))


def test_a_graph_runs_on_the_cpu_and_computes_what_it_says(tmp_path):
    session = OrtSession(request(graph(tmp_path)))
    assert session.provider == "cpu"
    assert session.signature.inputs["x"].shape == (None, 4)
    assert session.signature.inputs["x"].dtype == np.float32
    results = session.run({"x": ROWS})
    assert list(results) == ["y"]
    np.testing.assert_array_equal(results["y"], 3 * ROWS + 1)


def test_it_computes_the_same_with_any_number_of_threads_and_callers(tmp_path):
    alone = OrtSession(request(graph(tmp_path), threads=1))
    many = OrtSession(request(graph(tmp_path), threads=3))
    inputs = [np.random.default_rng(seed).normal(size=(seed + 1, 4)).astype(np.float32) for seed in range(16)]
    expected = [alone.run({"x": rows})["y"] for rows in inputs]
    with ThreadPoolExecutor(8) as workers:
        results = list(workers.map(lambda rows: many.run({"x": rows})["y"], inputs))
    for got, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_file_that_is_no_graph_is_named(tmp_path):
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"\x0f this is no graph")
    with pytest.raises(ModelError) as refused:
        OrtSession(request(ModelFile("broken", path)))
    assert str(refused.value).startswith(f"broken: {path} cannot be read as a graph (")
    assert str(refused.value).endswith(
        "). Delete the file and fetch it again with force-download, or bring another one."
    )


def saved(tmp_path, change):
    model = onnx.load(graph(tmp_path).path)
    change(model)
    path = tmp_path / "changed.onnx"
    path.write_bytes(model.SerializeToString())
    return ModelFile("changed", path)


def newer_format(model):
    model.ir_version = 99


def newer_operators(model):
    model.opset_import[0].version = 99


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (newer_format, r"Unsupported model IR version: 99, max supported IR version: \d+"),
        (newer_operators, r"Current official support for domain ai\.onnx is till opset \d+"),
    ],
)
def test_a_graph_of_a_later_version_of_onnx_is_to_be_exported_again(tmp_path, change, reason):
    model = saved(tmp_path, change)
    with pytest.raises(ModelError) as refused:
        OrtSession(request(model))
    assert re.fullmatch(
        rf"changed: {re.escape(str(model.path))} is of a version of ONNX that ONNX Runtime \S+ does not know "
        rf"\({reason}\)\. Export the model again for an earlier version, or bring another file\.",
        str(refused.value),
    )


def test_what_keeps_a_graph_from_starting_is_raised_and_not_printed(tmp_path, capfd):
    """Some of it ONNX Runtime finds only when it makes the parts that compute, and writes to the terminal."""

    def resizing(model):
        node = onnx.helper.make_node(
            "Resize", ["x", "", "", "size"], ["y"], coordinate_transformation_mode="isymmetric", mode="nearest"
        )
        del model.graph.node[:]
        model.graph.node.append(node)
        model.graph.initializer.append(numpy_helper.from_array(np.array([2, 4], np.int64), "size"))

    with pytest.raises(ModelError, match="isymmetric] is not supported"):
        OrtSession(request(saved(tmp_path, resizing), "cpu"))
    assert capfd.readouterr() == ("", "")


def test_a_graph_whose_weights_are_elsewhere_is_named(tmp_path):
    def elsewhere(model):
        for constant in model.graph.initializer:
            # What is smaller is read with the graph.
            constant.CopyFrom(numpy_helper.from_array(np.zeros((1 << 14, 4), np.float32), constant.name))
            set_external_data(constant, "weights.data", offset=0, length=1 << 18)
            constant.ClearField("raw_data")

    model = saved(tmp_path, elsewhere)
    with pytest.raises(ModelError) as refused:
        OrtSession(request(model))
    assert refused.value.fault.startswith(
        f"changed: {model.path} keeps its weights in another file, which cannot be had (External data path"
    )
    assert refused.value.remedy == "Put that file beside it, or save the model as one file."


def test_inputs_of_the_wrong_shape_are_refused_with_the_reason(tmp_path):
    session = OrtSession(request(graph(tmp_path)))
    with pytest.raises(
        ModelError, match=r"affine: the graph could not be run on cpu \(Got invalid dimensions .*Got: 3"
    ):
        session.run({"x": np.zeros((1, 3), np.float32)})


def test_a_session_without_the_provider_asked_for_is_refused(tmp_path, stub, bare_cuda):
    stub(obtained=["CPUExecutionProvider"])
    with pytest.raises(ProviderError) as refused:
        OrtSession(request(graph(tmp_path), "cuda"))
    assert str(refused.value) == (
        "affine: ONNX Runtime gave CPUExecutionProvider instead of cuda. Check that the driver and onnxruntime-gpu "
        "(pip install -r requirements-cuda.txt) fit each other, or add cpu to --execution-providers."
    )


def test_the_provider_reported_is_the_one_obtained(tmp_path, stub, bare_cuda):
    made = stub(obtained=["CUDAExecutionProvider", "CPUExecutionProvider"])
    assert OrtSession(request(graph(tmp_path), "cuda")).provider == "cuda"
    ((_, options, providers, fallback),) = made
    assert [name for name, _ in providers] == ["CUDAExecutionProvider", "CPUExecutionProvider"]
    assert providers[0][1]["do_copy_in_default_stream"] == "1"
    assert options.intra_op_num_threads == 1
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    assert fallback == 0


def test_folders_for_compiled_engines_exist_before_the_session(tmp_path, stub, monkeypatch):
    stub(obtained=["MIGraphXExecutionProvider"])
    made = request(graph(tmp_path), "migraphx", cache=tmp_path / "caches")
    OrtSession(made)
    assert [folder.is_dir() for folder in made.providers[0][1].folders()] == [True]


def test_directml_gets_no_memory_pattern(tmp_path, stub):
    made = stub(obtained=["DmlExecutionProvider"])
    OrtSession(request(graph(tmp_path), "directml"))
    assert made[0][1].enable_mem_pattern is False


@pytest.mark.parametrize(
    "message",
    [
        "CUDA failure 2: out of memory ; GPU=0",
        "Failed to allocate memory for requested buffer of size 1073741824",
        "Available memory of 1048576 is smaller than requested bytes of 4194304",
        "std::bad_alloc",
    ],
)
def test_running_out_of_memory_is_told_apart(tmp_path, stub, bare_cuda, message):
    error = runtime_state.RuntimeException(message)
    stub(error=error)
    with pytest.raises(DeviceMemoryError, match="affine: no memory left to load it on cuda"):
        OrtSession(request(graph(tmp_path), "cuda"))
    stub(obtained=["CUDAExecutionProvider"], run_error=error)
    with pytest.raises(DeviceMemoryError, match="affine: no memory left to run on cuda"):
        OrtSession(request(graph(tmp_path), "cuda")).run({})


def test_a_graph_that_a_device_cannot_load_is_the_providers_fault(tmp_path, stub, bare_cuda):
    stub(error=runtime_state.NotImplemented("[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : no kernel"))
    with pytest.raises(ProviderError) as refused:
        OrtSession(request(graph(tmp_path), "cuda"))
    assert str(refused.value) == (
        "affine: execution provider cuda could not load it (no kernel). "
        "Add cpu to --execution-providers to run it there."
    )


def test_the_probe_starts_a_provider_and_leaves_nothing_behind():
    threads = threading.active_count()
    probe(request(ModelFile("ignored", Path("nowhere.onnx")), "cpu"))
    assert threading.active_count() == threads


@pytest.mark.skipif(read_runtime().cuda_driver, reason="this machine may have CUDA")
@pytest.mark.filterwarnings("ignore:Specified provider 'CUDAExecutionProvider'")
def test_the_probe_tells_that_cuda_cannot_be_had(bare_cuda):
    with pytest.raises(ProviderError, match="probe: ONNX Runtime gave CPUExecutionProvider instead of cuda"):
        probe(request(ModelFile("ignored", Path("nowhere.onnx")), "cuda"))
