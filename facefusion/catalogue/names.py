"""Model names as choices of an option, looked up when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facefusion.catalogue.card import ModelCard

AUTO = "auto"
"""The best model that is at hand; see :meth:`facefusion.catalogue.store.ModelStore.resolve`."""


def model_names(kind: str) -> dict[str, Any]:
    """What the declaration of an option that names a model of ``kind`` says of its values."""
    return {"choices": model_choices(kind), "awaited": awaited_models(kind)}


def model_choices(kind: str) -> Callable[[], tuple[str, ...]]:
    """A function that gives ``auto`` and all names of models of ``kind`` that the catalogue knows."""

    def choices() -> tuple[str, ...]:
        from facefusion.catalogue.catalogue import Catalogue  # noqa: PLC0415 - read only when somebody asks

        return (AUTO, *Catalogue.load().choices(kind))

    return choices


def entry_of(kind: str, name: str) -> ModelCard | None:
    """The entry of a model by the name that an option holds; none where that stands for several, or is not known."""
    from facefusion.catalogue.catalogue import Catalogue  # noqa: PLC0415 - as above

    return next((card for card in Catalogue.load().cards(kind) if card.name == name), None)


def awaited_models(kind: str) -> Callable[[], tuple[str, ...]]:
    """A function that gives the names of models of ``kind`` that no code runs yet."""

    def awaited() -> tuple[str, ...]:
        from facefusion.catalogue.catalogue import Catalogue  # noqa: PLC0415 - as above

        return Catalogue.load().awaited(kind)

    return awaited
