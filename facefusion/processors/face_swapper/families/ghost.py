"""GHOST: identity converted to the network's own, with the length that the converter gives it."""

from __future__ import annotations

from facefusion.faces.recognise.arcface import LENGTH
from facefusion.processors.base import Workshop
from facefusion.processors.face_swapper.families.identity import converter, identity_source
from facefusion.processors.face_swapper.families.network import NetworkSwapper, network


def ghost(workshop: Workshop) -> NetworkSwapper:
    """A graph ``target`` (n, 3, S, S), ``source`` (n, 512), and a converter.

    Raises:
        ModelError: a graph does not fit.
    """
    swapping = network(workshop, (LENGTH,))
    own = converter(workshop)
    source = identity_source(workshop, lambda identity: own.convert(identity.raw))
    return NetworkSwapper(swapping, source, workshop.masker)
