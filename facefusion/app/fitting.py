"""Does a graph fit the code that would run it? What each family says of it, before anything is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TypeAlias

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.families import family_of
from facefusion.content.families import build_judge
from facefusion.core.errors import ModelError
from facefusion.core.graph import GraphSignature, SignedGraph
from facefusion.core.home import caches_folder
from facefusion.core.stop import StopToken
from facefusion.core.values import Size, Tensor
from facefusion.faces.bench import Bench
from facefusion.faces.classify.families import build_classifier
from facefusion.faces.detect.families import build_detector
from facefusion.faces.hands.families import HAND_DETECTORS, HAND_LANDMARKERS
from facefusion.faces.landmark.families import FACE_LANDMARKERS, OUTLINE_ESTIMATORS, OUTLINE_READERS
from facefusion.faces.mask.families import build_occluder, build_parser
from facefusion.faces.recognise.families import build_recogniser
from facefusion.inference.execution import Device, Execution
from facefusion.inference.interruption import Interruption
from facefusion.inference.pool import InferencePool
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.runner import PooledGraph
from facefusion.inference.runtime import read_runtime
from facefusion.inference.session import ModelFile
from facefusion.observability.events import Fanout
from facefusion.processors.base import Target, Workshop
from facefusion.processors.face_swapper.families.crossface import CrossFace
from facefusion.processors.registry import PROCESSORS

Fit: TypeAlias = Callable[[ModelCard, Bench], object]
"""Builds what runs the graph of a card; raises a :class:`ModelError` where that does not fit."""

PROCESSOR = "cpu"
"""The execution provider that every machine has."""


def _landmarker(card: ModelCard, bench: Bench) -> object:
    """The card's own part of it: the mesh that an outline reader works beside has a card of its own."""
    if card.family in OUTLINE_READERS:
        return OUTLINE_READERS[card.family](card, bench)
    return family_of(card, FACE_LANDMARKERS)(card, bench.runner(card))


FITS: Mapping[str, Fit] = {
    "content_analyser": lambda card, bench: build_judge(card, bench.runner, bench.companions),
    "face_classifier": build_classifier,
    "face_detector": build_detector,
    "face_landmark_estimator": lambda card, bench: family_of(card, OUTLINE_ESTIMATORS)(card, bench.runner(card)),
    "face_landmarker": _landmarker,
    "face_occluder": build_occluder,
    "face_parser": build_parser,
    "face_recognizer": build_recogniser,
    "hand_detector": lambda card, bench: family_of(card, HAND_DETECTORS)(card, bench.runner(card)),
    "hand_landmarker": lambda card, bench: family_of(card, HAND_LANDMARKERS)(card, bench.runner(card)),
    "identity_converter": lambda card, bench: CrossFace(card, bench.runner(card)),
}
"""By kind of model, but for those that processors are named after."""


@contextmanager
def opened(path: Path) -> Iterator[SignedGraph]:
    """A graph of any file, loaded by the processor once somebody asks it something."""
    execution = Execution((PROVIDERS[PROCESSOR],), (Device(0),), read_runtime(), caches_folder())
    # Nothing is kept, so nothing has to be let go after a while.
    with (
        InferencePool(execution, events=Fanout(()), idle_seconds=0) as pool,
        Interruption(StopToken()) as interruption,
    ):
        yield PooledGraph(pool, ModelFile(path.name, path), interruption)


def check_fit(catalogue: Catalogue, card: ModelCard, graph: SignedGraph) -> None:
    """Refuse a graph that cannot be run as a model of the catalogue is.

    Files of the models that it runs beside its own need not be there: they are not looked at.

    Args:
        catalogue: knows those models.
        card: of that model.
        graph: the graph in question.

    Raises:
        ModelError: it cannot be loaded, or does not fit; the message says what was expected and what was found.
    """
    own = _Noted(graph)

    def runner(one: ModelCard) -> SignedGraph:
        return own if one.name == card.name else _Absent(one.name)

    companions = {one.name: one for one in catalogue.companions([card])}
    try:
        if card.kind in FITS:
            FITS[card.kind](card, Bench(runner, companions))
        else:
            _build_processor(card, runner, companions)
    except _AbsentError as error:
        if not own.was_asked:
            raise ModelError(
                f"Whether a graph fits {card.name} cannot be told: its family looks at {error.model} first",
                "The family has to take its own graph before those beside it.",
            ) from error


def models_fitting(catalogue: Catalogue, graph: SignedGraph) -> list[ModelCard]:
    """The models that a graph could be run as, the first of each set of models that only their weights tell apart.

    Raises:
        ModelError: the graph cannot be loaded.
    """
    _ = graph.signature
    fitting: dict[object, ModelCard] = {}
    for card in catalogue.cards():
        key = (card.kind, card.family, tuple(sorted(card.numbers.items())), card.companions)
        if card.graph is None or card.graph.is_imported or key in fitting:
            continue
        try:
            check_fit(catalogue, card, graph)
        except ModelError:
            continue
        fitting[key] = card
    return list(fitting.values())


def _build_processor(
    card: ModelCard, runner: Callable[[ModelCard], SignedGraph], companions: Mapping[str, ModelCard]
) -> None:
    for entry in (entry for entry in PROCESSORS if entry.is_built):
        kind, settings = entry.load(), entry.settings()
        if card.kind in kind.models(settings):
            target = Target(Size(1, 1), 0, is_video=False)
            kind.build(Workshop(settings, {card.kind: card}, runner, companions, (), target, Fanout(())))
            return
    raise ModelError(f"no processor runs a {card.kind}", "Choose a model of another kind.")


class _AbsentError(Exception):
    """A family asked for the graph of a model beside its own."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self.model = model


class _Absent:
    """In place of the graph of a model that is not looked at."""

    def __init__(self, model: str) -> None:
        self._model = model

    @property
    def signature(self) -> NoReturn:
        raise _AbsentError(self._model)

    def run(self, inputs: Mapping[str, Tensor]) -> NoReturn:
        raise _AbsentError(self._model)

    def last_initializer(self) -> NoReturn:
        raise _AbsentError(self._model)


class _Noted:
    """A graph, and whether anybody asked what it takes and gives."""

    def __init__(self, graph: SignedGraph) -> None:
        self._graph = graph
        self.was_asked = False

    @property
    def signature(self) -> GraphSignature:
        self.was_asked = True
        return self._graph.signature

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return self._graph.run(inputs)

    def last_initializer(self) -> Tensor:
        return self._graph.last_initializer()
