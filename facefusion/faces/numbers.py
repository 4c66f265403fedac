"""Reading a family's numbers from its catalogue entry."""

from __future__ import annotations

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError


def number(card: ModelCard, name: str, default: float) -> float:
    """The number ``name`` of the entry, or the family's own where the entry says nothing.

    Raises:
        ModelError: the entry has something that is no number under that name.
    """
    value = card.numbers.get(name, default)
    if isinstance(value, int | float):
        return float(value)
    raise ModelError(f"Model {card.name}: {name} is {value!r} in the catalogue", "It must be a number.")
