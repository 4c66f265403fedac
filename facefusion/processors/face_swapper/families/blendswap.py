"""BlendSwap: a picture of the person, as ArcFace would see it."""

from __future__ import annotations

from facefusion.processors.base import Workshop
from facefusion.processors.face_swapper.families.identity import picture_source
from facefusion.processors.face_swapper.families.network import NetworkSwapper, network

TEMPLATE = "arcface_112_v2"
SIDE = 112


def blendswap(workshop: Workshop) -> NetworkSwapper:
    """A graph ``target`` (n, 3, S, S), ``source`` (n, 3, 112, 112).

    Raises:
        ModelError: the graph does not fit.
    """
    return NetworkSwapper(network(workshop, (3, SIDE, SIDE)), picture_source(workshop, TEMPLATE, SIDE), workshop.masker)
