"""The execution providers: which work here, what the others lack, and what a run would use."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from facefusion.config.state import Snapshot
from facefusion.core.errors import ProviderError
from facefusion.core.home import caches_folder
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Finding, Level, ok
from facefusion.doctor.look import Look
from facefusion.doctor.pip import CUDA_REQUIREMENTS, PIP, install, uninstall
from facefusion.inference.execution import Execution, plan_execution
from facefusion.inference.providers.base import Provider
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.settings import ExecutionSettings, InferenceSettings
from facefusion.observability.events import Fanout

TOPIC = "provider"

SWAP = (
    f"Run: {uninstall(('onnxruntime', 'onnxruntime-gpu'))}; then install that package with {PIP} install. "
    "Two at once break each other."
)
CUDA_PACKAGES = f"Run: {install('onnxruntime-gpu[cuda,cudnn]', CUDA_REQUIREMENTS)}"

Plan = Callable[[Snapshot, Look], Execution]
"""Chooses what graphs run on, as a run does; raises :class:`ProviderError`."""


def findings(examination: Examination) -> Iterator[Finding]:
    """Say of every provider whether it works here, and what a run would use."""
    yield from provider_findings(examination.snapshot, examination.look)


def provider_findings(snapshot: Snapshot, look: Look, plan: Plan | None = None) -> Iterator[Finding]:
    """What a look says about providers.

    Args:
        snapshot: says which are asked for.
        look: at this machine.
        plan: another one in tests.
    """
    asked = snapshot.get(ExecutionSettings).execution_providers
    for name in look.obstacles:
        yield _finding(PROVIDERS[name], look, asked=name in asked)
    try:
        execution = (plan or _plan)(snapshot, look)
    except ProviderError as error:
        yield Finding.of_error(TOPIC, error)
        return
    names = ", ".join(provider.name for provider in execution.providers)
    devices = [device for device in execution.devices if device.name]
    where = " on " + ", ".join(f"{device.id} ({device.name})" for device in devices) if devices else ""
    yield ok(TOPIC, f"a run with these settings uses {names}{where}")


def _finding(provider: Provider, look: Look, *, asked: bool) -> Finding:
    obstacle = look.obstacles[provider.name]
    if obstacle is None:
        return ok(TOPIC, f"{provider.name} works ({provider.hardware})")
    suits = provider.suits(look.runtime.system, look.makers)
    level = Level.WARNING if asked or obstacle.unexpected or (suits and provider.name == "cuda") else Level.NOTE
    missing = look.missing_libraries.get(provider.name, ())
    if provider.runtime_name not in look.runtime.offered:
        hardware = f"{provider.hardware}{', which this machine has' if suits else ''}"
        text = (
            f"{provider.name} is not in the ONNX Runtime installed here: {provider.package} brings it, for {hardware}"
        )
        return Finding(level, TOPIC, text, SWAP if suits or asked else "")
    text = f"{provider.name} does not work: {obstacle.reason}"
    if missing:
        return Finding(level, TOPIC, f"{text}; missing libraries: {', '.join(missing)}", CUDA_PACKAGES)
    return Finding(level, TOPIC, text)


def _plan(snapshot: Snapshot, look: Look) -> Execution:
    return plan_execution(
        snapshot.get(ExecutionSettings),
        snapshot.get(InferenceSettings),
        runtime=look.runtime,
        cache=caches_folder(),
        events=Fanout(),
    )
