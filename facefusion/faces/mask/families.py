"""The families of networks behind masks, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import SignedGraph
from facefusion.faces.mask.base import FaceOccluder, FaceParser
from facefusion.faces.mask.bisenet import BiSeNet
from facefusion.faces.mask.many import AllOccluders
from facefusion.faces.mask.xseg import XSeg

Graphs: TypeAlias = Callable[[ModelCard], SignedGraph]
"""From a card to what runs its graph."""
Cards: TypeAlias = Mapping[str, ModelCard]
"""Cards by name."""


def build_occluder(card: ModelCard, graphs: Graphs, companions: Cards) -> FaceOccluder:
    """The occluder of a card; one without a graph of its own is what its companions agree on.

    Raises:
        ModelError: the graph cannot be loaded, or does not fit.
    """
    if card.companions:
        return AllOccluders([build_occluder(companions[name], graphs, companions) for name in card.companions])
    return FACE_OCCLUDERS[card.family](card, graphs(card))


FACE_OCCLUDERS: Mapping[str, Callable[[ModelCard, SignedGraph], FaceOccluder]] = {
    "xseg": XSeg,
}

FACE_PARSERS: Mapping[str, Callable[[ModelCard, SignedGraph], FaceParser]] = {
    "bisenet": BiSeNet,
}
