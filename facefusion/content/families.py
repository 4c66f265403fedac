"""The families of content models, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.families import family_of
from facefusion.content.base import ContentModel
from facefusion.content.open_nsfw import OpenNsfw
from facefusion.core.graph import TypedGraph

CONTENT_MODELS: Mapping[str, Callable[[ModelCard, TypedGraph], ContentModel]] = {
    "open_nsfw": OpenNsfw,
}


def build_judge(card: ModelCard, graph: TypedGraph) -> ContentModel:
    """What judges the content of pictures, for an entry.

    Raises:
        ModelError: its family is not known, or its graph does not fit that.
    """
    return family_of(card, CONTENT_MODELS)(card, graph)
