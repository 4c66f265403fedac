"""One look at everything that graphs could run on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from facefusion.config.state import Snapshot
from facefusion.core.errors import ProviderError
from facefusion.core.home import caches_folder
from facefusion.doctor.advice import Facts
from facefusion.doctor.graphics import Unit, find_units
from facefusion.inference.devices import Gpu, look_for_gpus
from facefusion.inference.execution import Probe, find_obstacle
from facefusion.inference.probe import probe
from facefusion.inference.providers.base import Obstacle, Provider
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.runtime import Runtime, library_loads, read_runtime
from facefusion.inference.settings import ExecutionSettings, InferenceSettings
from facefusion.memory.machine import read_machine


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen. Nothing of it is kept: cards are plugged in, drivers are installed, memory fills up."""

    runtime: Runtime
    gpus: tuple[Gpu, ...]
    """NVIDIA cards, whether ONNX Runtime can use them or not."""
    driver_fault: str
    """What is wrong with the driver of NVIDIA cards; empty where nothing is known to be."""
    units: tuple[Unit, ...]
    """Graphics units and accelerators of every maker."""
    obstacles: Mapping[str, Obstacle | None]
    """For each provider that was tried what stops it from working; none where it works."""
    missing_libraries: Mapping[str, tuple[str, ...]]
    """For each provider that has hardware here and does not work, the libraries that cannot be loaded."""

    @property
    def usable(self) -> tuple[str, ...]:
        """Providers that work, best first."""
        return tuple(name for name, obstacle in self.obstacles.items() if obstacle is None)

    @property
    def facts(self) -> Facts:
        """What advice depends on; processors and memory as they are now."""
        return Facts(read_machine(), self.gpus, self.units, self.usable)

    @property
    def makers(self) -> frozenset[str]:
        """Makers of graphics units and accelerators that are here."""
        return frozenset(unit.maker for unit in self.units) | ({"NVIDIA"} if self.gpus else frozenset())


def look_around(
    snapshot: Snapshot,
    providers: tuple[Provider, ...] = PROVIDERS.all,
    *,
    runtime: Runtime | None = None,
    units: Sequence[Unit] | None = None,
    test: Probe = probe,
) -> Look:
    """Find the devices and try the providers on them.

    Args:
        snapshot: which devices and what precision to try.
        providers: to try.
        runtime: what ONNX Runtime offers; another one in tests.
        units: graphics units and accelerators; others in tests.
        test: tries one out.
    """
    runtime = runtime or read_runtime()
    gpus, driver_fault = look_for_gpus(visible=os.environ.get("CUDA_VISIBLE_DEVICES"))
    obstacles = {provider.name: _obstacle(provider, snapshot, runtime, test) for provider in providers}
    found = tuple(find_units(runtime.system) if units is None else units)
    look = Look(runtime, gpus, driver_fault, found, obstacles, {})
    missing = {
        provider.name: missing_libraries(provider, runtime)
        for provider in providers
        if obstacles[provider.name] is not None and _may_lack_libraries(provider, look)
    }
    return replace(look, missing_libraries=missing)


def _obstacle(provider: Provider, snapshot: Snapshot, runtime: Runtime, test: Probe) -> Obstacle | None:
    settings, inference = snapshot.get(ExecutionSettings), snapshot.get(InferenceSettings)
    try:
        return find_obstacle(provider, settings, inference, runtime=runtime, cache=caches_folder(), test=test)
    except ProviderError as error:
        return Obstacle(f"{error.fault}; {error.remedy}", unexpected=True)


def _may_lack_libraries(provider: Provider, look: Look) -> bool:
    """Whether hardware and driver are as they should be, so that libraries are what is left."""
    runtime = look.runtime
    if provider.runtime_name not in runtime.offered or not provider.suits(runtime.system, look.makers):
        return False
    # TensorRT says itself that its libraries are missing, after what stops CUDA.
    first = provider.companions or (provider.name,)
    return all(PROVIDERS[name].obstacle(runtime) is None for name in first)


def missing_libraries(provider: Provider, runtime: Runtime) -> tuple[str, ...]:
    """The libraries that a provider needs and that cannot be loaded, those of packages loaded first."""
    if provider.prepare is not None:
        provider.prepare()
    return tuple(name for name in provider.libraries(runtime) if not library_loads(name))
