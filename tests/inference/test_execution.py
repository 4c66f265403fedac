from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from facefusion.core.errors import ProviderError
from facefusion.inference.execution import Device, plan_execution
from facefusion.inference.providers.registry import PROVIDERS, ProviderRegistry
from facefusion.inference.session import ModelFile
from facefusion.inference.settings import ExecutionSettings, InferenceSettings
from facefusion.observability.events import Notice
from tests.inference.fakes import CARD, CPU_RUNTIME, GPU_RUNTIME, Heard, file

SILENT = ProviderRegistry(replace(provider, prepare=None) for provider in PROVIDERS.all)
"""What the loaders of libraries complain about depends on the machine."""

NOT_STARTED = (
    "ONNX Runtime gave CPUExecutionProvider instead; it needs onnxruntime-gpu (pip install -r requirements-cuda.txt)"
)


def works(request):
    """Every provider that is tried starts."""


class Broken:
    """Providers that do not start when tried; remembers which device was tried with which provider."""

    def __init__(self, *names):
        self.names = names
        self.tried = []

    def __call__(self, request):
        provider, options = request.providers[0]
        self.tried.append((provider.name, options.to_runtime()["device_id"]))
        if provider.name in self.names:
            raise ProviderError("probe: ONNX Runtime gave CPUExecutionProvider instead", "Check.")


def plan(*providers, runtime=GPU_RUNTIME, test=works, devices=(), heard=None, **inference):
    return plan_execution(
        ExecutionSettings(execution_providers=providers, execution_device_ids=devices),
        InferenceSettings(**inference),
        runtime=runtime,
        cache=Path("cache"),
        events=heard or Heard(),
        test=test,
        registry=SILENT,
    )


def names(execution):
    return [provider.name for provider in execution.providers]


def test_without_a_wish_the_best_that_works_is_taken_with_the_cpu_behind_it():
    heard = Heard()
    execution = plan(heard=heard)
    assert names(execution) == ["cuda", "cpu"]
    assert execution.on_gpu
    assert heard.events == [
        Notice(
            "Graphs run with cuda on NVIDIA GeForce RTX 4090. "
            "Use --execution-providers cuda; tensorrt pays off on long videos and from 4K on."
        )
    ]


def test_without_a_wish_and_without_a_card_the_cpu_is_taken_and_nothing_said():
    heard = Heard()
    execution = plan(runtime=CPU_RUNTIME, heard=heard)
    assert (names(execution), execution.on_gpu, heard.events) == (["cpu"], False, [])


def test_without_a_wish_a_card_that_does_not_work_is_said_all_the_same():
    heard = Heard()
    broken = Broken("cuda", "tensorrt")
    assert names(plan(test=broken, heard=heard)) == ["cpu"]
    assert broken.tried == [("cuda", "0"), ("tensorrt", "0")]
    assert heard.events == [
        Notice(f"execution provider cuda is skipped: {NOT_STARTED}", warning=True),
        Notice(f"execution provider tensorrt is skipped: {NOT_STARTED}", warning=True),
    ]


def test_without_a_wish_a_driver_that_is_too_old_is_said_once():
    heard = Heard()
    old = replace(GPU_RUNTIME, gpus=(replace(CARD, cuda_version=(12, 2)),))
    assert names(plan(runtime=old, heard=heard)) == ["cpu"]
    (notice,) = heard.events
    assert isinstance(notice, Notice)
    assert notice.message.startswith("execution provider cuda is skipped: the NVIDIA driver 580.65 supports CUDA 12.2")


def test_what_the_loader_of_libraries_complains_about_is_part_of_the_reason():
    complaining = ProviderRegistry(
        replace(provider, prepare=lambda: "Failed to load libcublas.so.13\nmore")
        if provider.name == "cuda"
        else provider
        for provider in PROVIDERS.all
    )
    with pytest.raises(ProviderError, match=r"instead; Failed to load libcublas\.so\.13; it needs onnxruntime-gpu"):
        plan_execution(
            ExecutionSettings(execution_providers=("cuda",)),
            InferenceSettings(),
            runtime=GPU_RUNTIME,
            cache=Path("cache"),
            events=Heard(),
            test=Broken("cuda"),
            registry=complaining,
        )


def test_listed_providers_are_tried_in_order_and_each_one_skipped_is_said():
    heard = Heard()
    execution = plan("directml", "tensorrt", "cuda", "cpu", test=Broken("tensorrt"), heard=heard)
    assert names(execution) == ["cuda", "cpu"]
    assert heard.events == [
        Notice(
            "execution provider directml is skipped: the ONNX Runtime installed here has no DmlExecutionProvider; "
            "it comes with onnxruntime-directml (Windows)",
            warning=True,
        ),
        Notice(f"execution provider tensorrt is skipped: {NOT_STARTED}", warning=True),
    ]


def test_asking_for_cuda_alone_and_not_getting_it_is_an_error():
    heard = Heard()
    with pytest.raises(ProviderError) as refused:
        plan("cuda", test=Broken("cuda"), heard=heard)
    assert str(refused.value) == (
        f"none of the execution providers asked for can be used (cuda: {NOT_STARTED}). "
        "Add cpu to --execution-providers to run on the processor."
    )
    assert heard.events == []


def test_asking_for_cuda_and_cpu_and_not_getting_cuda_is_one_warning():
    heard = Heard()
    assert names(plan("cuda", "cpu", test=Broken("cuda"), heard=heard)) == ["cpu"]
    assert heard.events == [Notice(f"execution provider cuda is skipped: {NOT_STARTED}", warning=True)]


def test_cuda_alone_has_no_cpu_behind_it():
    assert names(plan("cuda")) == ["cuda"]


def test_the_cpu_first_is_obeyed():
    assert names(plan("cpu", "cuda")) == ["cpu"]


def test_a_name_twice_counts_once():
    assert names(plan("cuda", "cuda", "cpu", "cpu")) == ["cuda", "cpu"]


def test_the_card_with_most_free_memory_is_chosen():
    cards = (replace(CARD, free_memory=2 << 30), replace(CARD, index=1, uuid="GPU-2", free_memory=9 << 30))
    execution = plan("cuda", runtime=replace(GPU_RUNTIME, gpus=cards))
    card = Device(1, "NVIDIA GeForce RTX 4090 Ada Lovelace", 9 << 30, "GPU-2", CARD.total_memory)
    assert execution.devices == (card,)


def test_chosen_devices_are_obeyed_and_each_is_tried():
    cards = (CARD, replace(CARD, index=1, uuid="GPU-2"))
    broken = Broken()
    execution = plan("cuda", runtime=replace(GPU_RUNTIME, gpus=cards), devices=(1, 0, 1), test=broken)
    assert [device.id for device in execution.devices] == [1, 0]
    assert broken.tried == [("cuda", "1"), ("cuda", "0")]


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ProviderError) as refused:
        plan("cuda", devices=(3,))
    assert str(refused.value) == (
        "--execution-device-ids 3: there is no such device. This machine has 0 (NVIDIA GeForce RTX 4090)."
    )


def test_devices_are_not_chosen_in_vain_without_a_word():
    heard, quiet = Heard(), Heard()
    plan("cpu", runtime=CPU_RUNTIME, devices=(1,), heard=heard)
    plan("cpu", runtime=CPU_RUNTIME, devices=(0,), heard=quiet)
    message = "--execution-device-ids has no effect: graphs run with cpu, which has no devices."
    assert heard.events == [Notice(message, warning=True)]
    assert quiet.events == []


def test_cards_that_do_not_tell_are_taken_at_their_word():
    execution = plan("cuda", runtime=replace(GPU_RUNTIME, gpus=()), devices=(2,))
    assert execution.devices == (Device(2),)


def test_limits_and_precision_reach_the_options(tmp_path):
    execution = plan("tensorrt", gpu_memory_limit=12, inference_precision="full")
    (request,) = execution.requests(file(tmp_path, "a"), "ab" * 32, execution.devices[0], 3 << 30)
    assert [provider.name for provider, _ in request.providers] == ["tensorrt", "cuda", "cpu"]
    tensorrt, cuda, _ = (options.to_runtime() for _, options in request.providers)
    assert tensorrt["trt_fp16_enable"] == "0"
    assert cuda["gpu_mem_limit"] == str(3 << 30)


def test_limits_of_a_device_are_not_set_in_vain_without_a_word():
    heard = Heard()
    execution = plan("cpu", runtime=CPU_RUNTIME, heard=heard, gpu_memory_limit=0.001, inference_gate_count=3)
    assert execution.memory_limit is None
    runs = "has no effect: graphs run with cpu, which"
    assert heard.events == [
        Notice(f"--gpu-memory-limit {runs} takes no video memory.", warning=True),
        Notice(f"--inference-gate-count {runs} has no gate; --execution-thread-count bounds it.", warning=True),
    ]
    heard = Heard()
    plan("cuda", heard=heard, gpu_memory_limit=0.001, inference_gate_count=3)
    assert heard.events == []


@pytest.mark.parametrize(("limit", "allowed"), [(0, None), (1e-12, 1), (0.5, 1 << 29), (1024, 1 << 40)])
def test_a_limit_of_next_to_nothing_is_a_limit(limit, allowed):
    assert plan("cuda", gpu_memory_limit=limit).memory_limit == allowed


def test_half_precision_where_nothing_computes_in_it_is_said():
    heard = Heard()
    plan("cpu", heard=heard, inference_precision="half")
    assert heard.events == [
        Notice("--inference-precision half has no effect: cpu computes in full precision.", warning=True)
    ]
    for name in ("cuda", "tensorrt"):
        heard = Heard()
        plan(name, heard=heard, inference_precision="half")
        assert heard.events == []


def test_cuda_graphs_without_cuda_are_said():
    heard = Heard()
    plan("tensorrt", heard=heard, inference_cuda_graphs=True)
    assert heard.events == [
        Notice("--inference-cuda-graphs has no effect: graphs run with tensorrt, which records nothing.", warning=True)
    ]
    heard = Heard()
    plan("cuda", heard=heard, inference_cuda_graphs=True)
    assert heard.events == []


def test_settings_of_precision_and_recordings_reach_the_provider():
    execution = plan("cuda", inference_precision="half", inference_cuda_graphs=True)
    (request,) = execution.requests(ModelFile("a", Path("a.onnx")), "ab" * 32, execution.devices[0])
    assert request.options.to_runtime()["enable_cuda_graph"] == "1"
    assert request.options == request.providers[0][1]
    assert "half_folder=" + repr(Path("cache/half") / f"{'ab' * 16}-1.31.1") in repr(request.options)
