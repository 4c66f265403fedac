from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import pytest

from facefusion.inference.providers.base import GIB, Obstacle, Placement, gate_by_free_memory
from facefusion.inference.providers.registry import PROVIDERS, ProviderRegistry
from tests.inference.fakes import CARD, CPU_RUNTIME, GPU_RUNTIME

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
        "cudnn_conv_algo_search": "EXHAUSTIVE",
        "do_copy_in_default_stream": "1",
    }
    assert "gpu_mem_limit" not in options("cuda", memory_limit=None)


@pytest.mark.parametrize(
    ("card", "search"), [("GTX 1660 Ti", "DEFAULT"), ("GTX 1650", "DEFAULT"), ("GTX 1080", "EXHAUSTIVE")]
)
def test_cuda_does_not_search_on_cards_it_does_not_suit(card, search):
    assert options("cuda", device_name=f"NVIDIA GeForce {card}")["cudnn_conv_algo_search"] == search


def test_tensorrt_options():
    values = options("tensorrt")
    engines, timing = values.pop("trt_engine_cache_path"), values.pop("trt_timing_cache_path")
    assert values == {
        "device_id": "1",
        "trt_engine_cache_enable": "1",
        "trt_timing_cache_enable": "1",
        "trt_builder_optimization_level": "5",
        "trt_fp16_enable": "1",
        "trt_max_workspace_size": str(12 * GIB),
    }
    assert engines.startswith("cache/tensorrt/engine-")
    assert timing.startswith("cache/tensorrt/timing-")


@pytest.mark.parametrize(
    ("change", "same_timing"),
    [
        ({"model_digest": "cd" * 32}, True),
        ({"shapes": (("x", (1, 3, 384, 640)),)}, True),
        ({"half": False}, True),
        ({"memory_limit": None}, True),
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
    assert half("openvino", "precision") == ["FP32", "FP32", "FP16"]
    assert half("cann", "precision_mode") == ["must_keep_origin_dtype", "must_keep_origin_dtype", "force_fp16"]
    assert half("coreml", "AllowLowPrecisionAccumulationOnGPU") == ["0", "0", "1"]


def test_a_card_is_needed_for_cuda():
    cuda = PROVIDERS["cuda"]
    assert cuda.obstacle(GPU_RUNTIME) is None
    assert cuda.obstacle(replace(GPU_RUNTIME, gpus=())) is None
    assert cuda.obstacle(replace(GPU_RUNTIME, gpus=(), cuda_driver=False)) == Obstacle(
        "no NVIDIA card was found (nvidia-smi and the driver's library are missing or see none)"
    )


def test_a_driver_too_old_names_the_last_build_for_it():
    old = replace(CARD, driver_version="535.183.01", cuda_version=(12, 2))
    assert PROVIDERS["cuda"].obstacle(replace(GPU_RUNTIME, gpus=(old,))) == Obstacle(
        "the NVIDIA driver 535.183.01 supports CUDA 12.2 and ONNX Runtime 1.31.1 needs CUDA 13.0; update the driver, "
        "or install the last build for CUDA 12: pip install 'onnxruntime-gpu[cuda,cudnn]==1.26.0'",
        unexpected=True,
    )


def test_tensorrt_needs_what_cuda_needs_and_its_libraries():
    tensorrt = PROVIDERS["tensorrt"]
    assert tensorrt.obstacle(GPU_RUNTIME) is None
    assert tensorrt.obstacle(replace(GPU_RUNTIME, gpus=(), cuda_driver=False)) == (
        PROVIDERS["cuda"].obstacle(replace(GPU_RUNTIME, gpus=(), cuda_driver=False))
    )
    assert tensorrt.obstacle(replace(GPU_RUNTIME, tensorrt_version=None)) == Obstacle(
        "the TensorRT 10 libraries are not installed (pip install -r requirements-cuda.txt)"
    )


def test_the_cpu_always_works():
    assert PROVIDERS["cpu"].obstacle(CPU_RUNTIME) is None


@pytest.mark.parametrize(("free", "slots"), [(None, 4), (0, 1), (3 * GIB, 1), (8 * GIB, 4), (139 * GIB, 8)])
def test_the_gate_follows_free_memory(free, slots):
    assert gate_by_free_memory(free) == slots


def test_openvino_numbers_devices_its_own_way():
    assert [options("openvino", device_id=number)["device_type"] for number in (0, 2)] == ["GPU", "GPU.2"]
