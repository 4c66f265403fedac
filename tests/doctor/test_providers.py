from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from facefusion.core.errors import ProviderError
from facefusion.doctor.devices import device_findings
from facefusion.doctor.finding import Level
from facefusion.doctor.graphics import Unit
from facefusion.doctor.look import look_around, missing_libraries
from facefusion.doctor.pip import PIP
from facefusion.doctor.providers import provider_findings
from facefusion.inference.execution import Device
from facefusion.inference.providers.base import Obstacle
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.runtime import Runtime
from tests.doctor.machines import look, settings
from tests.inference.fakes import GPU_RUNTIME, execution

CARD = ("NVIDIA GeForce RTX 4090", 24564, 23000)
NVIDIA = Unit("NVIDIA")
DEVICE = Device(0)


def plans(*names, devices=(DEVICE,)):
    return lambda snapshot, seen: execution(*names, devices=devices)


def refuses(message):
    def plan(snapshot, seen):
        raise ProviderError(message, "Add cpu to --execution-providers to run on the processor.")

    return plan


def findings(seen, plan=None, **values):
    found = list(provider_findings(settings(**values), seen, plan or plans("cpu")))
    return {one.text.split(" ")[0]: one for one in found[:-1]}, found[-1]


def test_every_provider_has_a_line_and_the_last_says_what_a_run_uses():
    found, last = findings(look())
    assert tuple(found) == PROVIDERS.names
    assert (last.level, last.text) == (Level.OK, "a run with these settings uses cpu")
    assert found["cpu"].text == "cpu works (any processor)"


def test_a_provider_that_this_build_lacks_names_the_package_that_brings_it():
    found, _ = findings(look())
    assert {one.level for name, one in found.items() if name != "cpu"} == {Level.NOTE}
    assert found["openvino"].text == (
        "openvino is not in the ONNX Runtime installed here: onnxruntime-openvino brings it, for Intel processors and "
        "graphics"
    )
    assert found["openvino"].remedy == ""


def test_where_the_hardware_is_here_the_way_to_the_package_is_said():
    found, _ = findings(look(units=(Unit("AMD"),)))
    assert found["migraphx"].text.endswith("for AMD cards on Linux, which this machine has")
    assert found["migraphx"].remedy == (
        f"Run: {PIP} uninstall -y onnxruntime onnxruntime-gpu; then install that package with {PIP} install. Two at "
        "once break each other."
    )
    assert found["directml"].remedy == ""


def test_a_card_under_a_build_for_processors_is_a_warning():
    found, _ = findings(look(CARD, units=(NVIDIA,)))
    assert found["cuda"].level is Level.WARNING
    assert found["cuda"].text == (
        "cuda is not in the ONNX Runtime installed here: onnxruntime-gpu (pip install -r requirements-cuda.txt) brings "
        "it, for NVIDIA cards, which this machine has"
    )


def test_missing_libraries_are_named_with_the_command_that_brings_them():
    seen = look(
        CARD,
        offers=("cuda", "tensorrt"),
        units=(NVIDIA,),
        obstacles={"cuda": Obstacle("ONNX Runtime gave CPUExecutionProvider instead of cuda", unexpected=True)},
        missing={"cuda": ("libcublas.so.13", "libcudnn.so.9"), "tensorrt": ("libnvinfer.so.10",)},
    )
    found, _ = findings(seen)
    assert (found["cuda"].level, found["cuda"].text, found["cuda"].remedy) == (
        Level.WARNING,
        "cuda does not work: ONNX Runtime gave CPUExecutionProvider instead of cuda; missing libraries: "
        "libcublas.so.13, libcudnn.so.9",
        f"Run: {PIP} install -r {Path(__file__).parents[2] / 'requirements-cuda.txt'}",
    )
    assert found["tensorrt"].level is Level.NOTE
    assert found["tensorrt"].text.endswith("; missing libraries: libnvinfer.so.10")


def test_a_driver_that_is_too_old_is_said():
    old = Obstacle("the NVIDIA driver 535.183.01 supports CUDA 12.2 and ONNX Runtime 1.31.1 needs CUDA 13.0", True)
    found, _ = findings(look(CARD, offers=("cuda",), units=(NVIDIA,), obstacles={"cuda": old}))
    assert (found["cuda"].level, found["cuda"].text) == (Level.WARNING, f"cuda does not work: {old.reason}")


def test_providers_that_are_asked_for_and_cannot_run_are_a_fault():
    found, last = findings(look(), refuses("none can be used"), execution_providers=("cuda", "openvino"))
    assert (found["cuda"].level, found["openvino"].level) == (Level.WARNING, Level.WARNING)
    assert (last.level, last.text) == (Level.FAULT, "none can be used")
    assert last.remedy == "Add cpu to --execution-providers to run on the processor."


def test_what_a_run_uses_is_told_with_its_devices():
    seen = look(CARD, works=("cuda", "cpu"), units=(NVIDIA,))
    found, last = findings(seen, plans("cuda", "cpu", devices=(Device(0, "RTX A"), Device(2, "RTX B"))))
    assert found["cuda"].text == "cuda works (NVIDIA cards)"
    assert last.text == "a run with these settings uses cuda, cpu on 0 (RTX A), 2 (RTX B)"


def test_a_card_is_told_with_its_memory_and_driver():
    (finding,) = device_findings(look(CARD, units=(NVIDIA,)), None)
    assert (finding.level, finding.text) == (
        Level.OK,
        "card 0: NVIDIA GeForce RTX 4090 (prosumer), 26 GB of memory, 24 GB free, driver 580.65.06 for CUDA 13.0",
    )


def test_a_card_that_is_nearly_full_is_a_warning():
    _, finding = device_findings(look(("NVIDIA GeForce RTX 4090", 24564, 900)), None)
    assert (finding.level, finding.text) == (Level.WARNING, "card 0 has only 944 MB of memory free")


@pytest.mark.parametrize(
    ("seen", "visible", "texts"),
    [
        (look(), None, ["no graphics card was found, so graphs run on the processor"]),
        (look(units=(NVIDIA,)), None, ["an NVIDIA card is here, and nvidia-smi is missing or sees none"]),
        (look(units=(NVIDIA,)), "", ["CUDA_VISIBLE_DEVICES= decides which NVIDIA cards are seen"]),
        (look(driver_fault="nvidia-smi failed: no"), None, ["nvidia-smi failed: no"]),
        (look(units=(Unit("AMD"), Unit("AMD"))), None, ["AMD graphics unit or accelerator"]),
    ],
)
def test_what_stands_between_a_card_and_its_use_is_said(seen, visible, texts):
    assert [one.text for one in device_findings(seen, visible)] == texts


def test_a_card_without_a_driver_is_a_warning_with_what_to_install():
    (finding,) = device_findings(look(units=(NVIDIA,)), None)
    assert finding.level is Level.WARNING
    assert finding.remedy.startswith("Install NVIDIA's driver, version 580 or newer; in a container")


def test_libraries_are_named_as_the_loader_knows_them():
    cuda, tensorrt = PROVIDERS["cuda"], PROVIDERS["tensorrt"]
    linux = Runtime("1.31.1", frozenset(), "Linux", cuda_version=(13, 0))
    older = Runtime("1.26.0", frozenset(), "Linux", cuda_version=(12, 8))
    windows = Runtime("1.31.1", frozenset(), "Windows", cuda_version=(13, 0))
    assert cuda.libraries(linux) == (
        "libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcufft.so.12", "libcurand.so.10",
        "libnvrtc.so.13", "libcudnn.so.9",
    )  # fmt: skip
    assert {"libcudart.so.12", "libcufft.so.11"} < set(cuda.libraries(older))
    assert {"cudart64_13.dll", "cufft64_12.dll", "cudnn64_9.dll"} < set(cuda.libraries(windows))
    assert tensorrt.libraries(linux) == ("libnvinfer.so.10", "libnvinfer_plugin.so.10", "libnvonnxparser.so.10")
    assert tensorrt.libraries(windows)[0] == "nvinfer_10.dll"


def test_libraries_that_cannot_be_loaded_are_missing():
    runtime = Runtime("1.31.1", frozenset(), "Linux")
    provider = replace(PROVIDERS["cpu"], libraries=lambda _: ("libc.so.6", "libno_such_library.so.1"))
    assert missing_libraries(provider, runtime) == ("libno_such_library.so.1",)


def test_a_look_at_this_machine_finds_that_the_processor_works():
    seen = look_around(settings(), (PROVIDERS["cpu"], PROVIDERS["cann"]))
    assert seen.usable == ("cpu",)
    assert seen.obstacles["cann"] is not None
    assert seen.facts.machine.cores > 0


def test_a_device_that_is_not_there_stops_a_provider_and_not_the_look():
    seen = look_around(settings(execution_device_ids=(99,)), (PROVIDERS["cuda"], PROVIDERS["cpu"]), runtime=GPU_RUNTIME)
    assert seen.usable == ("cpu",)
    assert seen.obstacles["cuda"] == Obstacle(
        "--execution-device-ids 99: there is no such device; This machine has 0 (NVIDIA GeForce RTX 4090).",
        unexpected=True,
    )


def test_a_provider_that_does_not_start_on_hardware_that_is_here_has_its_libraries_looked_for():
    def fails(request):
        raise ProviderError("probe: ONNX Runtime gave CPUExecutionProvider instead", "Check.")

    broken = replace(PROVIDERS["cuda"], prepare=lambda: "", libraries=lambda _: ("libno_such_library.so.1",))
    unasked = replace(PROVIDERS["migraphx"], libraries=lambda _: ("libno_such_library.so.1",))
    runtime = replace(GPU_RUNTIME, system="Linux")
    seen = look_around(settings(), (broken, unasked), runtime=runtime, test=fails, units=(NVIDIA,))
    assert seen.missing_libraries == {"cuda": ("libno_such_library.so.1",)}
    older = replace(runtime, gpus=tuple(replace(gpu, cuda_version=(12, 2)) for gpu in runtime.gpus))
    assert look_around(settings(), (broken,), runtime=older, test=fails, units=(NVIDIA,)).missing_libraries == {}
    assert seen.obstacles["cuda"] == Obstacle(
        "ONNX Runtime gave CPUExecutionProvider instead; it needs onnxruntime-gpu (pip install -r "
        "requirements-cuda.txt)",
        unexpected=True,
    )


def test_the_readme_names_each_provider_with_its_hardware_and_package():
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for provider in PROVIDERS.all:
        if provider.name in ("cuda", "tensorrt", "cpu", "coreml"):
            assert f"`{provider.name}`" in readme
        else:
            package = provider.package.replace(",", " ").split()[0]
            assert f"| `{provider.name}` | {provider.hardware} | `{package}` |" in readme
