"""Where graphs run: providers and devices, chosen once per run."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from facefusion.core.errors import FaceFusionError, ProviderError
from facefusion.inference.devices import classify, roomiest
from facefusion.inference.probe import PROBE, probe
from facefusion.inference.providers.base import GIB, Obstacle, Placement, Provider, ProviderOptions
from facefusion.inference.providers.registry import PROVIDERS, ProviderRegistry
from facefusion.inference.runtime import Runtime
from facefusion.inference.session import LoadRequest, ModelFile
from facefusion.inference.settings import ExecutionSettings, InferenceSettings
from facefusion.memory.video import run_video_bytes, session_video_bytes
from facefusion.observability.events import EventSink, Notice

logger = logging.getLogger(__name__)

Probe = Callable[[LoadRequest], None]
"""Raises a :class:`FaceFusionError` where a provider cannot be had."""

_HALF = {"auto": None, "full": False, "half": True}


@dataclass(frozen=True, slots=True)
class Device:
    """One device that sessions are placed on."""

    id: int
    name: str = ""
    """Name and capability of the card; empty where it does not tell."""
    free_memory: int | None = None
    """Bytes free when it was looked at; none where it does not tell."""
    card: str = ""
    """UUID of the card, which is the same for all processes; empty where there is none to tell."""
    total_memory: int | None = None
    """Bytes that it has in all; none where it does not tell."""


@dataclass(frozen=True, slots=True)
class Execution:
    """Everything that sessions are made with, beside the graph."""

    providers: tuple[Provider, ...]
    """Those that work here, in order; never empty."""
    devices: tuple[Device, ...]
    """Never empty; each holds all models."""
    runtime: Runtime
    cache: Path
    """Folder for compiled engines."""
    memory_limit: int | None = None
    """Bytes of device memory that all sessions on a device may take; none for no limit."""
    half: bool | None = None
    """Half precision always, never, or (none) where it is the provider's habit."""
    replay: bool = False
    """Record what graphs launch and replay it, where the provider can."""
    gate_count: int = 0
    """Graphs that may run on a device at once; 0 leaves it to the provider's rule."""

    @property
    def on_gpu(self) -> bool:
        """True where graphs run on a device of their own, so that workers mostly wait."""
        return self.providers[0].on_gpu

    def slots(self, provider: Provider, device: Device) -> int | None:
        """Graphs that may run on a device at once; none for any number."""
        known = [amount for amount in (device.free_memory, self.memory_limit) if amount is not None]
        slots = provider.gate(min(known, default=None))
        if slots is None or not provider.concurrent:
            return slots if provider.concurrent else 1
        return self.gate_count or slots

    def share(self, model: ModelFile, runs: int | None, pictures: int) -> int:
        """Bytes of device memory that the session of a graph may take.

        Args:
            model: whose graph it is.
            runs: of the graph that may be under way at once; none for any number, which tells nothing.
            pictures: that may go through it in one run.
        """
        provider = self.providers[0]
        half = provider.halves if self.half else self.half is None and provider.half_by_itself
        size = model.path.stat().st_size
        return session_video_bytes(size, workspace=model.workspace * pictures, runs=runs or 1, half=half)

    def requests(
        self, model: ModelFile, digest: str, device: Device, share: int | None = None
    ) -> tuple[LoadRequest, ...]:
        """The sessions to try for a graph, in order: one for each provider.

        Args:
            model: whose graph is to be loaded.
            digest: SHA-256 of its file.
            device: to load it on.
            share: bytes of the device that the session may take, which it is held to where the user set a limit.
        """
        placement = Placement(
            device_id=device.id,
            device_name=device.name,
            free_memory=device.free_memory,
            memory_limit=share if self.memory_limit is not None else None,
            workspace=run_video_bytes(model.workspace) if self.memory_limit is not None else None,
            half=self.half,
            cache=self.cache,
            model_digest=digest,
            shapes=model.warm_up,
            runtime=self.runtime,
            replay=self.replay,
        )
        return tuple(LoadRequest(model, _stack(provider, placement)) for provider in self.providers)


def plan_execution(
    settings: ExecutionSettings,
    inference: InferenceSettings,
    *,
    runtime: Runtime,
    cache: Path,
    events: EventSink,
    test: Probe = probe,
    registry: ProviderRegistry = PROVIDERS,
) -> Execution:
    """Choose providers and devices from the settings and what this machine offers.

    Args:
        settings: providers and devices asked for.
        inference: precision and limits.
        runtime: what this machine offers.
        cache: folder for compiled engines.
        events: told about each provider that was asked for and is skipped.
        test: tries a provider out before it is chosen.
        registry: the providers there are.

    Raises:
        ProviderError: none of the providers asked for works, or a device does not exist.
    """

    def planned(provider: Provider) -> Execution:
        return _plan(provider, settings, inference, runtime, cache)

    def obstacle(provider: Provider) -> Obstacle | None:
        return find_obstacle(provider, settings, inference, runtime=runtime, cache=cache, test=test)

    asked = tuple(registry[name] for name in dict.fromkeys(settings.execution_providers))
    chosen = _first_working(asked, obstacle, events) if asked else _best(registry, obstacle, events)
    execution = replace(planned(chosen[0]), providers=chosen)
    if not asked and execution.on_gpu:
        events.emit(Notice(_recommendation(execution)))
    for option, reason in _without_effect(execution, settings, inference):
        events.emit(Notice(f"{option} has no effect: {reason}.", warning=True))
    return execution


def find_obstacle(
    provider: Provider,
    settings: ExecutionSettings,
    inference: InferenceSettings,
    *,
    runtime: Runtime,
    cache: Path,
    test: Probe = probe,
) -> Obstacle | None:
    """What stops a provider from working here, tried out on every device that is asked for; none where it works.

    The arguments are those of :func:`plan_execution`.

    Raises:
        ProviderError: a device that is asked for does not exist.
    """
    known = provider.obstacle(runtime)
    if known is not None or not provider.on_gpu:
        return known
    plan = _plan(provider, settings, inference, runtime, cache)
    try:
        for device in plan.devices:
            test(plan.requests(ModelFile(PROBE, Path()), "", device)[0])
    except FaceFusionError as error:
        complaints = provider.prepare().splitlines() if provider.prepare else []
        reasons = (error.fault.removeprefix(f"{PROBE}: "), *complaints[:1], f"it needs {provider.package}")
        return Obstacle("; ".join(reasons), unexpected=True)
    return None


def _plan(
    provider: Provider,
    settings: ExecutionSettings,
    inference: InferenceSettings,
    runtime: Runtime,
    cache: Path,
) -> Execution:
    return Execution(
        providers=(provider,),
        devices=_devices(provider, settings.execution_device_ids, runtime),
        runtime=runtime,
        cache=cache,
        # Rounded up: a limit of next to nothing is one.
        memory_limit=(math.ceil(inference.gpu_memory_limit * GIB) or None) if provider.on_gpu else None,
        half=_HALF[inference.inference_precision],
        replay=inference.inference_cuda_graphs,
        gate_count=inference.inference_gate_count,
    )


def _without_effect(
    execution: Execution, settings: ExecutionSettings, inference: InferenceSettings
) -> Iterator[tuple[str, str]]:
    """Options that are set and that the provider knows nothing of, each with why."""
    provider = execution.providers[0]
    runs = f"graphs run with {provider.name}"
    if not provider.on_gpu:
        if set(settings.execution_device_ids) - {0}:
            yield "--execution-device-ids", f"{runs}, which has no devices"
        if inference.gpu_memory_limit:
            yield "--gpu-memory-limit", f"{runs}, which takes no video memory"
        if inference.inference_gate_count:
            yield "--inference-gate-count", f"{runs}, which has no gate; --execution-thread-count bounds it"
    if execution.half and not provider.halves:
        yield "--inference-precision half", f"{provider.name} computes in full precision"
    if execution.replay and provider.name != "cuda":
        yield "--inference-cuda-graphs", f"{runs}, which records nothing"


def _first_working(
    asked: Sequence[Provider], obstacle: Callable[[Provider], Obstacle | None], events: EventSink
) -> tuple[Provider, ...]:
    """The first that works and, where it was asked for too, the CPU behind it for graphs that it cannot load."""
    reasons: list[str] = []
    for place, provider in enumerate(asked):
        found = obstacle(provider)
        if found is None:
            return (provider, *(other for other in asked[place + 1 :] if not other.on_gpu))
        reasons.append(f"{provider.name}: {found.reason}")
        if place + 1 < len(asked):
            events.emit(_skipped(provider, found))
    raise ProviderError(
        f"none of the execution providers asked for can be used ({'; '.join(reasons)})",
        "Add cpu to --execution-providers to run on the processor.",
    )


def _best(
    registry: ProviderRegistry, obstacle: Callable[[Provider], Obstacle | None], events: EventSink
) -> tuple[Provider, ...]:
    """The first of all that works, and the CPU; a device that is there and does not work is said."""
    cpu = registry["cpu"]
    for provider in registry.all:
        found = obstacle(provider)
        if found is None:
            return (provider, cpu) if provider.on_gpu else (cpu,)
        logger.debug("execution provider %s: %s", provider.name, found.reason)
        if found.unexpected:
            events.emit(_skipped(provider, found))
    return (cpu,)


def _skipped(provider: Provider, obstacle: Obstacle) -> Notice:
    return Notice(f"execution provider {provider.name} is skipped: {obstacle.reason}", warning=True)


def _recommendation(execution: Execution) -> str:
    cards = {gpu.index: gpu for gpu in execution.runtime.gpus}
    card = cards.get(execution.devices[0].id)
    where = f" on {card.name}" if card else ""
    advice = f" {classify(card).advice}" if card else ""
    return f"Graphs run with {execution.providers[0].name}{where}.{advice}"


def _devices(provider: Provider, ids: Sequence[int], runtime: Runtime) -> tuple[Device, ...]:
    if not provider.on_gpu:
        return (Device(0),)
    # Only NVIDIA's cards are known, and others have numbers of their own.
    cards = {gpu.index: gpu for gpu in runtime.gpus} if "NVIDIA" in provider.makers else {}
    if not ids:
        card = roomiest(tuple(cards.values()))
        ids = (card.index,) if card else (0,)
    unknown = [number for number in ids if cards and number not in cards]
    if unknown:
        there = ", ".join(f"{gpu.index} ({gpu.name})" for gpu in runtime.gpus)
        raise ProviderError(
            f"--execution-device-ids {unknown[0]}: there is no such device", f"This machine has {there}."
        )
    return tuple(
        Device(
            number,
            " ".join(filter(None, (cards[number].name, cards[number].compute_capability, cards[number].architecture))),
            cards[number].free_memory,
            cards[number].uuid,
            cards[number].total_memory,
        )
        if number in cards
        else Device(number)
        for number in dict.fromkeys(ids)
    )


def _stack(provider: Provider, placement: Placement) -> tuple[tuple[Provider, ProviderOptions], ...]:
    others = (PROVIDERS[name] for name in dict.fromkeys((*provider.companions, "cpu")) if name != provider.name)
    return (
        (provider, provider.options(placement)),
        *((other, (other.companion_options or other.options)(placement)) for other in others),
    )
