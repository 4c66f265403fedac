"""The families of content models, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.families import family_of
from facefusion.content.base import ContentModel, ContentNetwork, Judge, Vote
from facefusion.content.erax import Erax
from facefusion.content.freepik import Freepik
from facefusion.content.marqo import Marqo
from facefusion.content.open_nsfw import OpenNsfw
from facefusion.core.graph import TypedGraph

Runner: TypeAlias = Callable[[ModelCard], TypedGraph]
"""Makes the runner of a card's graph."""
Companions: TypeAlias = Mapping[str, ModelCard]
"""The models that a family runs beside its own, by name."""
Build: TypeAlias = Callable[[ModelCard, Runner, Companions], ContentModel]


def build_judge(card: ModelCard, runner: Runner, companions: Companions) -> ContentModel:
    """What judges the content of pictures, for an entry.

    Raises:
        ModelError: its family is not known, or its graph does not fit that.
    """
    return family_of(card, CONTENT_MODELS)(card, runner, companions)


def _alone(network: Callable[[ModelCard, TypedGraph], ContentNetwork]) -> Build:
    """A family of one network, whose entry says the limit."""
    return lambda card, runner, _: Judge(card.name, network(card, runner(card)), card.number("limit"))


def _voting(card: ModelCard, runner: Runner, companions: Companions) -> ContentModel:
    """The models beside an entry, which says how many of them have to agree."""
    voters = [build_judge(companions[name], runner, companions) for name in card.companions]
    return Vote(voters, int(card.number("needed")))


CONTENT_MODELS: Mapping[str, Build] = {
    "erax": _alone(Erax),
    "freepik": _alone(Freepik),
    "marqo": _alone(Marqo),
    "open_nsfw": _alone(OpenNsfw),
    "vote": _voting,
}
