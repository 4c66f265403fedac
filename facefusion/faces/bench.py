"""What a family of face models is built on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import TypedGraph


@dataclass(frozen=True, slots=True)
class Bench:
    """The graphs that a family may run."""

    runner: Callable[[ModelCard], TypedGraph]
    """Makes the runner of a card's graph."""
    companions: Mapping[str, ModelCard] = field(default_factory=dict)
    """The models that a family runs beside its own, by name."""

    def beside(self, card: ModelCard) -> tuple[ModelCard, ...]:
        """The models that ``card`` runs beside its own, in the order of its entry."""
        return tuple(self.companions[name] for name in card.companions)
