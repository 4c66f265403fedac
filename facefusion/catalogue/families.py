"""Finding the code that runs a model, by the family that its entry names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError

FamilyT = TypeVar("FamilyT")


def family_of(card: ModelCard, families: Mapping[str, FamilyT]) -> FamilyT:
    """What runs the models of a card's family.

    Args:
        card: of the model.
        families: those of the card's kind of model, by name.

    Raises:
        ModelError: the family is none of them.
    """
    if card.family in families:
        return families[card.family]
    kind = card.kind.replace("_", " ")
    raise ModelError(
        f"the model {card.name} belongs to the family {card.family}, which the {kind} does not know",
        f"Choose a model of one of these families: {', '.join(families)}.",
    )
