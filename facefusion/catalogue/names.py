"""Model names as choices of an option, looked up when they are needed."""

from __future__ import annotations

from collections.abc import Callable

AUTO = "auto"
"""The best model that is at hand; see :meth:`facefusion.catalogue.store.ModelStore.resolve`."""


def model_choices(kind: str) -> Callable[[], tuple[str, ...]]:
    """A function that gives ``auto`` and all names of models of ``kind`` that the catalogue knows."""

    def choices() -> tuple[str, ...]:
        from facefusion.catalogue.catalogue import Catalogue  # noqa: PLC0415 - read only when somebody asks

        return (AUTO, *Catalogue.load().choices(kind))

    return choices
