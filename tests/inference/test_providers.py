from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import pytest

from facefusion.inference.execution import Device
from facefusion.inference.providers import cuda, tensorrt
from facefusion.inference.providers.base import GIB, DeviceMemory, Obstacle, Placement, gate_by_free_memory
from facefusion.inference.providers.registry import PROVIDERS, ProviderRegistry
from facefusion.inference.session import ModelFile
from tests.inference.fakes import CARD, CPU_RUNTIME, GPU_RUNTIME, execution, graph

PLACEMENT = Placement(
    device_id=1,
    device_name="NVIDIA GeForce RTX 4090 Ada Lovelace",
    free_memory=20 * GIB,
    memory_limit=12 * GIB,
    half=None,
    cache=Path("cache"),
    model_digest="ab" * 32,
    shapes=(("x", (1, 3, 640, 640)),),
    runtime=GPU_RUNTIME,
    workspace=96 << 20,
)


def options(name, **changes):
    return PROVIDERS[name].options(replace(PLACEMENT, **changes)).to_runtime()


def test_the_registry_lists_all_providers_best_first_and_the_cpu_last():
    assert PROVIDERS.names == (
        "cuda",
        "tensorrt",
        "rocm",
        "migraphx",
        "coreml",
        "openvino",
        "qnn",
        "directml",
        "cann",
        "cpu",
    )


def test_registering_twice_raises():
    with pytest.raises(ValueError, match="execution provider 'cuda' is registered twice"):
        ProviderRegistry((PROVIDERS["cuda"], PROVIDERS["cpu"], PROVIDERS["cuda"]))


@pytest.mark.parametrize("provider", PROVIDERS.all, ids=lambda provider: provider.name)
def test_every_provider_keeps_the_contract(provider):
    chosen = provider.options(PLACEMENT)
    values = chosen.to_runtime()
    assert all(isinstance(key, str) and isinstance(value, str) for key, value in values.items())
    assert len(provider.note.splitlines()) == 2
    with pytest.raises(FrozenInstanceError):
        setattr(chosen, fields(chosen)[0].name, None)
    slots = provider.gate(3 * GIB)
    assert slots is None if provider.name == "cpu" else slots is not None and slots >= 1
    assert provider.obstacle(replace(GPU_RUNTIME, offered=frozenset())) == Obstacle(
        f"the ONNX Runtime installed here has no {provider.runtime_name}; it comes with {provider.package}"
    )
    paths = [value for value in values.values() if value.startswith("cache/")]
    assert sorted(paths) == sorted(folder.as_posix() for folder in chosen.folders())


def test_cuda_options():
    assert options("cuda") == {
        "device_id": "1",
        "gpu_mem_limit": str(12 * GIB),
        "arena_extend_strategy": "kNextPowerOfTwo",
        "cudnn_conv_algo_search": "HEURISTIC",
        "do_copy_in_default_stream": "1",
        "cudnn_conv_use_max_workspace": "0",
        "use_tf32": "1",
    }
    assert "gpu_mem_limit" not in options("cuda", memory_limit=None)


def test_no_search_of_cudnn_takes_what_is_free_with_a_limit_or_without():
    assert [options("cuda", memory_limit=limit)["cudnn_conv_use_max_workspace"] for limit in (None, GIB)] == ["0", "0"]


def test_full_precision_on_cuda_rounds_nothing():
    assert [options("cuda", half=half)["use_tf32"] for half in (None, False, True)] == ["1", "0", "1"]


def test_half_precision_on_cuda_is_a_copy_of_the_graph_named_by_what_it_is_made_of():
    def copy(**changes):
        return cuda.options(replace(PLACEMENT, **changes)).half_folder

    assert [copy(half=half) for half in (None, False)] == [None, None]
    assert copy(half=True) == Path("cache/half") / f"{'ab' * 16}-1.31.1"
    assert copy(half=True) != copy(half=True, model_digest="cd" * 32)
    assert copy(half=True) != copy(half=True, runtime=replace(GPU_RUNTIME, version="1.32.0"))
    assert copy(half=True, model_digest="") is None  # the provider is only tried out, with a graph of text


def test_launches_are_recorded_on_cuda_where_that_is_asked_for():
    assert "enable_cuda_graph" not in options("cuda")
    assert options("cuda", replay=True)["enable_cuda_graph"] == "1"
    assert "enable_cuda_graph" not in options("cuda", replay=True, model_digest="")
    chosen = PROVIDERS["cuda"].options(replace(PLACEMENT, replay=True))
    assert (chosen.replayed(), chosen.not_replayed().replayed()) == (True, False)
    assert "enable_cuda_graph" not in chosen.not_replayed().to_runtime()


def test_behind_tensorrt_cuda_takes_the_graph_as_it_is():
    plan = replace(execution("tensorrt"), half=True, replay=True)
    (request,) = plan.requests(ModelFile("a", Path("a.onnx")), "ab" * 32, Device(0))
    assert [provider.name for provider, _ in request.providers] == ["tensorrt", "cuda", "cpu"]
    behind = request.providers[1][1]
    assert isinstance(behind, cuda.CudaOptions)
    assert (behind.half_folder, behind.replayed()) == (None, False)


@pytest.mark.parametrize("name", ["cuda", "tensorrt"])
def test_inputs_and_outputs_stay_on_nvidia_cards(name):
    assert PROVIDERS[name].options(PLACEMENT).memory() == DeviceMemory("cuda", 1)


@pytest.mark.parametrize("name", ["cpu", "rocm", "migraphx", "openvino", "coreml", "directml", "qnn", "cann"])
def test_elsewhere_they_are_handed_over_with_each_run(name):
    assert PROVIDERS[name].options(PLACEMENT).memory() is None


def test_tensorrt_options():
    values = options("tensorrt")
    engines, timing = values.pop("trt_engine_cache_path"), values.pop("trt_timing_cache_path")
    assert values == {
        "device_id": "1",
        "trt_engine_cache_enable": "1",
        "trt_timing_cache_enable": "1",
        "trt_builder_optimization_level": "5",
        "trt_fp16_enable": "1",
        "trt_layer_norm_fp32_fallback": "1",
        "trt_context_memory_sharing_enable": "1",
        "trt_force_sequential_engine_build": "1",
        "trt_max_workspace_size": str(96 << 20),
    }
    assert engines.startswith("cache/tensorrt/engine-")
    assert timing.startswith("cache/tensorrt/timing-")
    assert options("tensorrt", half=False)["trt_layer_norm_fp32_fallback"] == "0"


def test_an_engine_serves_as_many_pictures_as_go_through_a_graph_together(tmp_path):
    chosen = tensorrt.options(PLACEMENT).fitted(graph(tmp_path).path)
    values = chosen.to_runtime()
    assert [values[f"trt_profile_{name}_shapes"] for name in ("min", "opt", "max")] == ["x:1x4", "x:1x4", "x:4x4"]
    assert chosen.engine_folder == tensorrt.options(PLACEMENT).engine_folder


def test_what_providers_compile_is_kept_in_folders_of_which_the_graphs_own_comes_first():
    values = options("tensorrt")
    folders = PROVIDERS["tensorrt"].options(PLACEMENT).caches()
    assert [folder.as_posix() for folder in folders] == [
        values["trt_engine_cache_path"],
        values["trt_timing_cache_path"],
    ]
    assert PROVIDERS["migraphx"].options(PLACEMENT).caches() == PROVIDERS["migraphx"].options(PLACEMENT).folders()
    assert PROVIDERS["cuda"].options(PLACEMENT).caches() == ()


@pytest.mark.parametrize(
    ("change", "same_timing"),
    [
        ({"model_digest": "cd" * 32}, True),
        ({"shapes": (("x", (1, 3, 384, 640)),)}, True),
        ({"half": False}, True),
        ({"workspace": None}, True),
        ({"device_name": "NVIDIA GeForce RTX 3090"}, False),
        ({"runtime": replace(GPU_RUNTIME, version="1.32.0")}, False),
        ({"runtime": replace(GPU_RUNTIME, tensorrt_version="10.14.0")}, False),
    ],
)
def test_whatever_decides_a_tensorrt_engine_is_in_its_key(change, same_timing):
    before, after = options("tensorrt"), options("tensorrt", **change)
    assert before["trt_engine_cache_path"] != after["trt_engine_cache_path"]
    assert (before["trt_timing_cache_path"] == after["trt_timing_cache_path"]) == same_timing


def test_two_cards_of_one_kind_share_their_engines():
    assert options("tensorrt", device_id=0)["trt_engine_cache_path"] == options("tensorrt")["trt_engine_cache_path"]


def test_half_precision_follows_habit_or_the_users_word():
    def half(name, key):
        return [options(name, half=value)[key] for value in (None, False, True)]

    assert half("tensorrt", "trt_fp16_enable") == ["1", "0", "1"]
    assert half("migraphx", "migraphx_fp16_enable") == ["0", "0", "1"]
    assert half("qnn", "enable_htp_fp16_precision") == ["1", "0", "1"]
    assert half("openvino", "precision") == ["FP32", "FP32", "FP16"]
    assert half("cann", "precision_mode") == ["must_keep_origin_dtype", "must_keep_origin_dtype", "force_fp16"]
    assert half("coreml", "AllowLowPrecisionAccumulationOnGPU") == ["0", "0", "1"]


def test_a_card_is_needed_for_cuda():
    assert PROVIDERS["cuda"].obstacle(GPU_RUNTIME) is None
    assert PROVIDERS["cuda"].obstacle(replace(GPU_RUNTIME, gpus=())) is None
    assert PROVIDERS["cuda"].obstacle(replace(GPU_RUNTIME, gpus=(), cuda_driver=False)) == Obstacle(
        "no NVIDIA card was found (nvidia-smi and the driver's library are missing or see none, or "
        "CUDA_VISIBLE_DEVICES hides all)"
    )


def test_a_driver_too_old_names_the_last_build_for_it():
    old = replace(CARD, driver_version="535.183.01", cuda_version=(12, 2))
    assert PROVIDERS["cuda"].obstacle(replace(GPU_RUNTIME, gpus=(old,))) == Obstacle(
        "the NVIDIA driver 535.183.01 supports CUDA 12.2 and ONNX Runtime 1.31.1 needs CUDA 13.0; update the driver, "
        "or install the last build for CUDA 12: pip install 'onnxruntime-gpu[cuda,cudnn]==1.26.0'",
        unexpected=True,
    )


def test_tensorrt_needs_what_cuda_needs_and_its_libraries():
    assert PROVIDERS["tensorrt"].obstacle(GPU_RUNTIME) is None
    assert PROVIDERS["tensorrt"].obstacle(replace(GPU_RUNTIME, gpus=(), cuda_driver=False)) == (
        PROVIDERS["cuda"].obstacle(replace(GPU_RUNTIME, gpus=(), cuda_driver=False))
    )
    assert PROVIDERS["tensorrt"].obstacle(replace(GPU_RUNTIME, tensorrt_version=None)) == Obstacle(
        "the TensorRT 10 libraries are not installed (pip install -r requirements-cuda.txt)"
    )


def test_the_cpu_always_works():
    assert PROVIDERS["cpu"].obstacle(CPU_RUNTIME) is None


@pytest.mark.parametrize(("free", "slots"), [(None, 4), (0, 1), (3 * GIB, 1), (8 * GIB, 4), (139 * GIB, 8)])
def test_the_gate_follows_free_memory(free, slots):
    assert gate_by_free_memory(free) == slots


def test_openvino_numbers_devices_its_own_way():
    assert [options("openvino", device_id=number)["device_type"] for number in (0, 2)] == ["GPU", "GPU.2"]
