"""InSwapper: identity through a matrix that the graph's file keeps as its last constant, and that no node reads."""

from __future__ import annotations

import numpy as np

from facefusion.core.errors import ModelError
from facefusion.core.values import Embedding
from facefusion.faces.recognise.arcface import LENGTH
from facefusion.faces.recognise.base import IdentityReading
from facefusion.processors.base import Workshop
from facefusion.processors.face_swapper.families.identity import identity_source
from facefusion.processors.face_swapper.families.network import NetworkSwapper, network


def inswapper(workshop: Workshop) -> NetworkSwapper:
    """A graph ``target`` (n, 3, S, S), ``source`` (n, 512).

    Raises:
        ModelError: a graph does not fit.
    """
    card = workshop.cards["face_swapper"]
    # Asked first: of a graph of another family it would not be right to say that it lost a matrix.
    swapping = network(workshop, (LENGTH,))
    matrix = workshop.runner(card).last_initializer()
    if matrix.shape != (LENGTH, LENGTH):
        found = " x ".join(str(size) for size in matrix.shape) or "one number"
        raise ModelError(
            f"{card.name}: the last constant of its file is {found} and must be the 512 x 512 matrix of identities",
            "It was saved anew and lost that, as quantised graphs do: put the matrix back as the last constant, or "
            "delete the file and fetch it with force-download.",
        )

    def code(identity: IdentityReading) -> Embedding:
        return identity.raw @ matrix / np.linalg.norm(identity.raw)

    return NetworkSwapper(swapping, identity_source(workshop, code), workshop.masker)
