"""The graphics cards: which there are, what each has free, and whether a driver answers."""

from __future__ import annotations

import os
from collections.abc import Iterator

from facefusion.core.storage import in_units
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Finding, note, ok, warning
from facefusion.doctor.look import Look
from facefusion.inference.devices import Gpu, classify

TOPIC = "device"

DRIVER = (
    "Install NVIDIA's driver, version 580 or newer; in a container give it the card (docker run --gpus all), with "
    "NVIDIA's container toolkit on the host."
)

NEARLY_FULL = 2 << 30
"""Bytes free below which the larger models do not fit beside what others have on the card."""


def findings(examination: Examination) -> Iterator[Finding]:
    """Say which devices there are."""
    yield from device_findings(examination.look, os.environ.get("CUDA_VISIBLE_DEVICES"))


def device_findings(look: Look, visible: str | None) -> Iterator[Finding]:
    """What a look says about devices.

    Args:
        look: at this machine.
        visible: value of ``CUDA_VISIBLE_DEVICES``; none where it is not set.
    """
    for gpu in look.gpus:
        yield ok(TOPIC, describe(gpu))
        if gpu.free_memory is not None and gpu.free_memory < NEARLY_FULL:
            yield warning(
                TOPIC,
                f"card {gpu.index} has only {in_units(gpu.free_memory)} of memory free",
                "End other programs that use it, or set video_memory_strategy = conservative.",
            )
    if look.driver_fault:
        yield warning(TOPIC, look.driver_fault, DRIVER)
    elif not look.gpus and "NVIDIA" in {unit.maker for unit in look.units} and visible is None:
        yield warning(TOPIC, "an NVIDIA card is here, and nvidia-smi is missing or sees none", DRIVER)
    if visible is not None:
        yield note(TOPIC, f"CUDA_VISIBLE_DEVICES={visible} decides which NVIDIA cards are seen")
    others = [unit for unit in look.units if unit.maker != "NVIDIA"]
    for unit in dict.fromkeys(map(str, others)):
        yield note(TOPIC, unit)
    if not look.gpus and not look.units and not look.driver_fault:
        yield note(TOPIC, "no graphics card was found, so graphs run on the processor")


def describe(gpu: Gpu) -> str:
    """A card in words."""
    memory = [
        f"{in_units(gpu.total_memory)} of memory" if gpu.total_memory is not None else "",
        f"{in_units(gpu.free_memory)} free" if gpu.free_memory is not None else "",
    ]
    cuda = f" for CUDA {gpu.cuda_version[0]}.{gpu.cuda_version[1]}" if gpu.cuda_version else ""
    capability = f"capability {gpu.compute_capability}" if gpu.compute_capability else ""
    parts = [*memory, gpu.architecture or "", capability, f"driver {gpu.driver_version}{cuda}"]
    return f"card {gpu.index}: {gpu.name} ({classify(gpu).value}), {', '.join(filter(None, parts))}"
