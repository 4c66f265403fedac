"""SimSwap: identity converted to the network's own, at length one; the result is plain colour."""

from __future__ import annotations

from facefusion.faces.normalisation import PLAIN
from facefusion.faces.recognise.arcface import LENGTH
from facefusion.faces.recognise.base import unit
from facefusion.processors.base import Workshop
from facefusion.processors.face_swapper.families.identity import converter, identity_source
from facefusion.processors.face_swapper.families.network import NetworkSwapper, network


def simswap(workshop: Workshop) -> NetworkSwapper:
    """A graph ``target`` (n, 3, S, S), ``source`` (n, 512), and a converter.

    The result is 0..1, whatever coding the target needs.

    Raises:
        ModelError: a graph does not fit.
    """
    swapping = network(workshop, (LENGTH,), gives=PLAIN)
    own = converter(workshop)
    source = identity_source(workshop, lambda identity: unit(own.convert(identity.raw)))
    return NetworkSwapper(swapping, source, workshop.masker)
