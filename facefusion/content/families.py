"""The families of content models, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from facefusion.catalogue.card import ModelCard
from facefusion.content.base import ContentModel
from facefusion.content.open_nsfw import OpenNsfw
from facefusion.core.graph import TypedGraph

CONTENT_MODELS: Mapping[str, Callable[[ModelCard, TypedGraph], ContentModel]] = {
    "open_nsfw": OpenNsfw,
}
