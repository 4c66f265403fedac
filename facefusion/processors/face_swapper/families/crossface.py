"""CrossFace: turns identities of ArcFace into those that a swapping network was trained with."""

from __future__ import annotations

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.graph import WRONG_FILE, FittedGraph, TypedGraph
from facefusion.core.values import Embedding
from facefusion.faces.recognise.arcface import LENGTH


class CrossFace:
    """Runs a graph ``input`` (1, 512) -> 512 values. Thread-safe.

    Raises:
        ModelError: the graph does not fit.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._name = card.name
        self._graph = FittedGraph(card.name, graph, {"input": (1, LENGTH)}, [None])

    def convert(self, raw: Embedding) -> Embedding:
        """From the recogniser's 512 numbers, of any length, to the other's.

        Raises:
            ModelError: the graph gives more or fewer.
            InferenceError: it gives values that are no numbers.
        """
        converted = self._graph.run({"input": raw[None]})[0].reshape(-1)
        if len(converted) != LENGTH:
            raise ModelError(
                f"{self._name}: the graph does not fit its family: expected {LENGTH} numbers, found {len(converted)}",
                WRONG_FILE,
            )
        return converted
