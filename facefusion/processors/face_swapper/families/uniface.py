"""UniFace: a picture of the person, framed as the target is."""

from __future__ import annotations

from facefusion.processors.base import Workshop
from facefusion.processors.face_swapper.families.identity import picture_source
from facefusion.processors.face_swapper.families.network import NetworkSwapper, network

TEMPLATE = "ffhq_512"
SIDE = 256


def uniface(workshop: Workshop) -> NetworkSwapper:
    """A graph ``target`` (n, 3, S, S), ``source`` (n, 3, 256, 256), plain colour whatever coding the target needs.

    Raises:
        ModelError: the graph does not fit.
    """
    return NetworkSwapper(network(workshop, (3, SIDE, SIDE)), picture_source(workshop, TEMPLATE, SIDE), workshop.masker)
