from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from facefusion.inference.devices import Gpu, GpuClass, _run, classify, find_gpus, look_for_gpus, roomiest
from tests.inference.fakes import CARD

REPORT = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <driver_version>535.183.01</driver_version>
  <cuda_version>12.2</cuda_version>
  <attached_gpus>2</attached_gpus>
  <gpu id="00000000:01:00.0">
    <product_name>NVIDIA GeForce RTX 3060</product_name>
    <product_architecture>Ampere</product_architecture>
    <uuid>GPU-aaaa-1</uuid>
    <fb_memory_usage>
      <total>12288 MiB</total><reserved>200 MiB</reserved><used>11000 MiB</used><free>1088 MiB</free>
    </fb_memory_usage>
    <bar1_memory_usage><total>256 MiB</total><used>1 MiB</used><free>255 MiB</free></bar1_memory_usage>
  </gpu>
  <gpu id="00000000:02:00.0">
    <product_name>NVIDIA A100-SXM4-80GB</product_name>
    <product_architecture>N/A</product_architecture>
    <uuid>GPU-bbbb-2</uuid>
    <fb_memory_usage><total>81920 MiB</total><used>1 MiB</used><free>[Insufficient Permissions]</free></fb_memory_usage>
  </gpu>
</nvidia_smi_log>
"""


def prints(report):
    return lambda command, timeout: report


def raises(error):
    def run(command, timeout):
        raise error

    return run


def test_the_report_is_read_card_by_card():
    asked = []

    def run(command, timeout):
        asked.append(tuple(command))
        return REPORT

    first, second = find_gpus(run=run)
    assert asked == [("nvidia-smi", "-q", "-x")]
    assert first == Gpu(
        index=0,
        name="NVIDIA GeForce RTX 3060",
        uuid="GPU-aaaa-1",
        total_memory=12288 << 20,
        free_memory=1088 << 20,
        driver_version="535.183.01",
        cuda_version=(12, 2),
        architecture="Ampere",
    )
    assert (second.index, second.name, second.free_memory, second.architecture) == (
        1,
        "NVIDIA A100-SXM4-80GB",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        (None, [("GPU-aaaa-1", 0), ("GPU-bbbb-2", 1)]),
        ("1,0", [("GPU-bbbb-2", 0), ("GPU-aaaa-1", 1)]),
        ("GPU-bbbb", [("GPU-bbbb-2", 0)]),
        ("0,7,1", [("GPU-aaaa-1", 0)]),
        ("-1", []),
        ("", []),
    ],
)
def test_cards_are_numbered_as_cuda_sees_them(visible, found):
    assert [(gpu.uuid, gpu.index) for gpu in find_gpus(visible=visible, run=prints(REPORT))] == found


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError("nvidia-smi"), False),
        (subprocess.TimeoutExpired("nvidia-smi", 20), True),
        (subprocess.CalledProcessError(9, "nvidia-smi"), True),
        (PermissionError("nvidia-smi"), True),
    ],
)
def test_without_a_report_there_are_no_cards(error, said, caplog):
    assert find_gpus(run=raises(error)) == ()
    assert ("nvidia-smi" in caplog.text) == said


def test_what_the_driver_complains_about_is_told():
    failed = subprocess.CalledProcessError(9, "nvidia-smi", output="NVIDIA-SMI has failed\nMake sure it is loaded.\n")
    assert look_for_gpus(run=raises(failed)) == (
        (),
        "nvidia-smi failed with status 9: NVIDIA-SMI has failed Make sure it is loaded.",
    )


def test_an_unreadable_report_means_no_cards(caplog):
    assert find_gpus(run=prints("NVIDIA-SMI has failed because it couldn't talk to the driver")) == ()
    assert "no readable report" in caplog.text


def test_a_report_that_is_no_text_means_no_cards():
    program = "import sys; sys.stdout.buffer.write(b'\\x9f\\xff rubbish')"
    gpus, fault = look_for_gpus(run=lambda _, timeout: _run((sys.executable, "-c", program), timeout))
    assert gpus == ()
    assert fault.startswith("nvidia-smi printed no readable report: ")


def test_a_driver_that_does_not_answer_means_no_cards():
    hangs = (sys.executable, "-c", "import time; time.sleep(60)")
    assert look_for_gpus(run=lambda *_: _run(hangs, 0.1)) == ((), "nvidia-smi gave no answer within 20 seconds")


def test_the_roomiest_card_is_the_one_with_most_free_memory():
    small, large = replace(CARD, index=0, free_memory=2), replace(CARD, index=1, free_memory=3)
    assert roomiest((small, large)) == large
    assert roomiest((small, replace(large, free_memory=2))) == small
    assert roomiest((replace(small, free_memory=None), large)) == large
    assert roomiest(()) is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("NVIDIA A100-SXM4-80GB", GpuClass.DATACENTRE),
        ("NVIDIA H200", GpuClass.DATACENTRE),
        ("NVIDIA L40S", GpuClass.DATACENTRE),
        ("Tesla T4", GpuClass.DATACENTRE),
        ("NVIDIA A10G", GpuClass.DATACENTRE),
        ("NVIDIA A2", GpuClass.DATACENTRE),
        ("GeForce G210", GpuClass.CONSUMER),
        ("NVIDIA RTX A6000", GpuClass.DATACENTRE),
        ("NVIDIA GeForce RTX 4090", GpuClass.PROSUMER),
        ("NVIDIA GeForce RTX 3060 Ti", GpuClass.PROSUMER),
        ("NVIDIA GeForce RTX 5070", GpuClass.PROSUMER),
        ("NVIDIA GeForce GTX 1650", GpuClass.CONSUMER),
        ("NVIDIA GeForce RTX 2080", GpuClass.CONSUMER),
    ],
)
def test_the_class_of_a_card_follows_from_its_name(name, kind):
    assert classify(replace(CARD, name=name)) is kind


def test_no_card_has_a_class_of_its_own():
    assert classify(None) is GpuClass.NONE
    assert {kind.advice for kind in GpuClass} >= {"Use --execution-providers cpu; a smaller output is quicker."}
    assert len({kind.advice for kind in GpuClass}) == len(GpuClass)
