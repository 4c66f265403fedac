"""Invented machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from facefusion.app.engine import Engine
from facefusion.cli.main import program_schema
from facefusion.config.origin import COMMAND_LINE
from facefusion.config.state import Snapshot
from facefusion.doctor.advice import Facts
from facefusion.doctor.graphics import Unit
from facefusion.doctor.look import Look
from facefusion.inference.devices import parse_report
from facefusion.inference.providers.base import Obstacle
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.runtime import Runtime
from facefusion.memory.machine import Machine

GIB = 1 << 30

RUNTIME_NAMES = {provider.name: provider.runtime_name for provider in PROVIDERS.all}


def settings(**values: object) -> Snapshot:
    """The program's settings, with values as if they stood on the command line."""
    return Snapshot(program_schema(Engine()), {}, {}).with_values(values, COMMAND_LINE)


def machine(cores: float = 16, memory: int = 64, available: int | None = None, system: str = "Linux") -> Machine:
    """Sizes in GiB."""
    free = memory * 3 // 4 if available is None else available
    return Machine(cores=cores, memory=memory * GIB, available=free * GIB, system=system)


def report(*cards: tuple[str, int, int], driver: str = "580.65.06", cuda: str = "13.0") -> str:
    """What ``nvidia-smi -q -x`` prints: name, total and free MiB of each card."""
    entries = "".join(
        f"<gpu><product_name>{name}</product_name><uuid>GPU-{number}</uuid><fb_memory_usage>"
        f"<total>{total} MiB</total><free>{f'{free} MiB' if free >= 0 else 'N/A'}</free></fb_memory_usage></gpu>"
        for number, (name, total, free) in enumerate(cards)
    )
    head = f"<driver_version>{driver}</driver_version><cuda_version>{cuda}</cuda_version>"
    return f"<nvidia_smi_log>{head}{entries}</nvidia_smi_log>"


NVIDIA = ("cuda", "tensorrt", "cpu")


def facts(
    *cards: tuple[str, int, int],
    usable: tuple[str, ...] = NVIDIA,
    units: tuple[Unit, ...] | None = None,
    cores: float = 16,
    memory: int = 64,
) -> Facts:
    """What advice depends on; ``memory`` in GiB."""
    every = tuple(Unit("NVIDIA") for _ in cards) if units is None else units
    return Facts(machine(cores, memory), parse_report(report(*cards)), every, usable)


def look(
    *cards: tuple[str, int, int],
    works: tuple[str, ...] = ("cpu",),
    offers: tuple[str, ...] = ("cpu",),
    obstacles: Mapping[str, Obstacle] | None = None,
    missing: Mapping[str, tuple[str, ...]] | None = None,
    units: tuple[Unit, ...] = (),
    driver_fault: str = "",
    system: str = "Linux",
) -> Look:
    """A look at a machine where some providers work, and others are offered by the build and do not."""
    gpus = parse_report(report(*cards))
    runtime = Runtime(
        version="1.31.1",
        offered=frozenset(RUNTIME_NAMES[name] for name in (*offers, *works)),
        system=system,
        cuda_version=(13, 0),
        gpus=gpus,
    )
    found = {
        name: None if name in works else provider.obstacle(replace(runtime, gpus=())) or Obstacle("it did not start")
        for name, provider in ((provider.name, provider) for provider in PROVIDERS.all)
    }
    return Look(runtime, gpus, driver_fault, units, {**found, **(obstacles or {})}, missing or {})


def sysfs(root: Path, **devices: tuple[str, str]) -> Path:
    """A tree with ``sys``: for each place on the bus (``d01_00_0`` for 01:00.0) vendor and class."""
    for name, (vendor, kind) in devices.items():
        bus, slot, function = name[1:].split("_")
        folder = root / f"sys/bus/pci/devices/0000:{bus}:{slot}.{function}"
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "class").write_text(f"{kind}\n")
    return root
