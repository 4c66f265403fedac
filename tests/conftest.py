"""What all tests share: the embedded models, fetched once, and that no test depends on the clock or on another test."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.store import ModelStore
from facefusion.memory.machine import read_machine
from facefusion.observability.events import Fanout

BIG = frozenset({"real_esrgan_x4"})
"""Embedded models that no test needs."""

WORKER_BYTES = 3 << 30
"""Memory for each process that tests run in; they take a third of it, and what they start the rest."""

# Results of the same input are the same bytes only where nobody signs them. Programs that tests start inherit it.
os.environ.setdefault("FACEFUSION_MARKING", "off")

# A busy machine would fail tests otherwise.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")


@pytest.fixture(autouse=True, scope="session")
def hangups_are_heard() -> Iterator[None]:
    """Under ``nohup`` whatever tests start would ignore the end of its terminal; here it is as at a terminal."""
    if not hasattr(signal, "SIGHUP"):
        yield
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """What a run within a test sets up for its logging ends with the test."""
    root, own = logging.getLogger(), logging.getLogger("facefusion")
    level = own.level
    yield
    for handler in [handler for handler in root.handlers if type(handler).__module__.startswith("facefusion.")]:
        root.removeHandler(handler)
    own.setLevel(level)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What ``-n auto`` means: as many processes as this machine, or container, has cores and memory for."""
    machine = read_machine()
    return max(1, min(round(machine.cores), machine.memory // WORKER_BYTES))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that takes the embedded models says so by its markers, without having to write them."""
    for item in items:
        if "embedded_models" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.weights)
            item.add_marker(pytest.mark.network)


@pytest.fixture(scope="session")
def embedded_models() -> ModelStore:
    """The store with the embedded models in it: in ``FACEFUSION_TEST_MODELS``, else in the repository's ``models``."""
    folder = Path(os.environ.get("FACEFUSION_TEST_MODELS") or Path(__file__).parents[1] / "models")
    catalogue = Catalogue.load()
    store = ModelStore(catalogue, [folder], Fanout())
    store.ensure_all(card for card in catalogue.embedded() if card.name not in BIG)
    return store


@pytest.fixture(scope="session")
def model_path(embedded_models: ModelStore) -> Callable[[str], Path]:
    """The file of an embedded model, by the model's name."""
    return lambda name: embedded_models.ensure(embedded_models.catalogue.card(name))
