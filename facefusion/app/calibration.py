"""Measuring how models make best use of the processor's cores, and remembering it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

from facefusion.app.kept_graphs import kept_graphs
from facefusion.app.model_names import model_choices_of
from facefusion.app.models import open_store
from facefusion.catalogue.checksums import digest_of
from facefusion.config.state import Snapshot
from facefusion.core.errors import ModelError
from facefusion.core.home import caches_folder
from facefusion.core.stop import StopToken
from facefusion.inference.bare import Division, measure_division, measure_divisions
from facefusion.inference.calibration import ThreadPlans, choose, closed_shapes
from facefusion.inference.execution import Device, Execution
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.runtime import read_runtime
from facefusion.inference.session import ModelFile
from facefusion.inference.settings import ExecutionSettings
from facefusion.memory.machine import read_machine
from facefusion.observability.events import EventSink, Notice

MEASURED_SECONDS = 0.25
"""For which each graph is run in each way to use the cores."""


def usable_cores() -> int:
    """Processors that runs are divided among."""
    return max(1, round(read_machine().cores))


def thread_plans() -> ThreadPlans:
    """What was measured on this machine."""
    return ThreadPlans(caches_folder() / "threads.json", read_runtime().version, usable_cores())


def calibrate(snapshot: Snapshot, events: EventSink, stop: StopToken) -> None:
    """Measure the models of a step that are on this machine and were not measured yet, on the processor.

    Models whose graphs leave open what they are fed are left out: the benchmark, which has run them, measures those.

    Args:
        snapshot: the settings of the step.
        events: told what was found.
        stop: ends it.

    Raises:
        ModelError: a model is unknown.
        Stopped: a stop was requested.
    """
    cores = usable_cores()
    if cores == 1 or snapshot.get(ExecutionSettings).execution_providers[:1] != ("cpu",):
        return
    plans, found = thread_plans(), dict[str, Division | None]()
    for model, digest in _models(snapshot, events, stop):
        stop.check()
        if plans.of(digest) is None:
            with contextlib.suppress(ModelError):  # said when the step runs, if it needs the model at all
                found |= _measured(model, digest, cores, events)
            if chosen := found.get(model.name):
                plans.remember(digest, chosen)
    known = {name: plan for name, plan in found.items() if plan is not None}
    if known:
        several = ", ".join(f"{name} on {plan.threads}" for name, plan in known.items() if plan.threads > 1)
        message = f"--auto-tune measured {len(known)} models on {cores} cores; run on several threads: "
        events.emit(Notice(f"{message}{several or 'none'}."))
    if len(known) < len(found):
        message = "--auto-tune could not tell how models use the cores best, since other programs use them too"
        events.emit(Notice(f"{message}; a later run tries again."))


def _models(snapshot: Snapshot, events: EventSink, stop: StopToken) -> Iterator[tuple[ModelFile, str]]:
    """Those of a step that are here, and the SHA-256 of each."""
    store = open_store(snapshot, events, stop)
    chosen = [
        store.resolve(kind, name).card
        for kind, name in model_choices_of(snapshot).items()
        if store.catalogue.cards(kind)
    ]
    cards = {card.name: card for card in (*chosen, *store.catalogue.companions(chosen))}
    for card in cards.values():
        path = None if card.graph is None else store.find(card)
        if path is not None:
            yield ModelFile(card.name, path), digest_of(path)


def _measured(model: ModelFile, digest: str, cores: int, events: EventSink) -> dict[str, Division | None]:
    """How a model is best run, by its name; none where the machine is too busy. Empty where its graph is too open.

    Raises:
        ModelError: the graph cannot be loaded or run.
    """
    runtime = read_runtime()
    execution = Execution((PROVIDERS["cpu"],), (Device(0),), runtime, caches_folder())
    load = kept_graphs(runtime.version, events)
    request = execution.requests(model, digest, Device(0))[0]
    fed = closed_shapes(load(request).signature)
    if fed is None:
        return {}
    measured = measure_divisions(request, fed, cores, MEASURED_SECONDS, load=load)
    again = partial(measure_division, request, fed, seconds=MEASURED_SECONDS, load=load)
    return {model.name: choose(request, fed, measured, again, load=load)}
