"""What all tests share: the embedded models, fetched once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.store import ModelStore
from facefusion.observability.events import Fanout

BIG = frozenset({"real_esrgan_x4"})
"""Embedded models that no test needs."""


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
