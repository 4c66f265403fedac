"""HyperSwap: identity as ArcFace gives it, at length one."""

from __future__ import annotations

from facefusion.faces.recognise.arcface import LENGTH
from facefusion.processors.base import Workshop
from facefusion.processors.face_swapper.families.identity import identity_source
from facefusion.processors.face_swapper.families.network import NetworkSwapper, network


def hyperswap(workshop: Workshop) -> NetworkSwapper:
    """A graph ``target`` (n, 3, S, S), ``source`` (n, 512); the mask that it gives as well is not used.

    Raises:
        ModelError: a graph does not fit.
    """
    swapping = network(workshop, (LENGTH,))
    source = identity_source(workshop, lambda identity: identity.unit)
    return NetworkSwapper(swapping, source, workshop.masker)
