"""Processors and memory, and what a container or an option leaves of them."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from facefusion.core.storage import in_units
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Finding, note, ok, warning
from facefusion.memory.budget import GIB
from facefusion.memory.machine import Machine, read_machine
from facefusion.memory.settings import MemorySettings

TOPIC = "machine"

SCARCE = 2 * GIB
"""Bytes free below which runs have to do with the smallest window: the models of a swap and x264 at 2160p take
about that."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """What the machine has, whatever this process may use of it."""

    processors: int
    memory: int
    """In bytes."""


def findings(examination: Examination) -> Iterator[Finding]:
    """Say what this process may use."""
    hardware = Hardware(os.cpu_count() or 1, int(psutil.virtual_memory().total))
    limit = examination.snapshot.get(MemorySettings).system_memory_limit
    yield from machine_findings(read_machine(), hardware, limit)


def machine_findings(machine: Machine, hardware: Hardware, limit_gb: float) -> Iterator[Finding]:
    """What to say of a machine.

    Args:
        machine: what this process may use.
        hardware: what there is.
        limit_gb: ``--system-memory-limit``, 0 for none.
    """
    processors = f"{machine.cores:g} {'processor' if machine.cores == 1 else 'processors'}"
    memory = f"{in_units(machine.memory)} of memory, {in_units(machine.available)} free"
    yield ok(TOPIC, f"{platform.machine()}, {processors}, {memory}")
    if machine.cores < hardware.processors:
        yield note(TOPIC, f"a container or an affinity leaves {machine.cores:g} of {hardware.processors} processors")
    if machine.memory < hardware.memory:
        yield note(TOPIC, f"a container leaves {in_units(machine.memory)} of {in_units(hardware.memory)} of memory")
    if machine.available < SCARCE:
        yield warning(
            TOPIC,
            f"only {in_units(machine.available)} of memory are free",
            "End other programs, or give the container more memory.",
        )
    if limit_gb * GIB > machine.memory:
        yield warning(
            TOPIC,
            f"system_memory_limit = {limit_gb:g} is more than the {in_units(machine.memory)} there are",
            "It is cut to that; lower it, or leave it out.",
        )
    elif limit_gb:
        yield note(TOPIC, f"system_memory_limit = {limit_gb:g} keeps runs within {in_units(int(limit_gb * GIB))}")
