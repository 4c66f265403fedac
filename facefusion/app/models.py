"""From the models a step asks for to graphs that run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TypeAlias

from facefusion.app.paths import model_folders
from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.checksums import digest_of
from facefusion.catalogue.fetch import Fetcher
from facefusion.catalogue.mirrors import mirrors_of
from facefusion.catalogue.settings import EMBEDDED, DownloadSettings
from facefusion.catalogue.store import ModelStore
from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import ModelError
from facefusion.core.graph import PICTURES_AT_ONCE, SignedGraph, most_in_a_run
from facefusion.core.stop import StopToken
from facefusion.inference.calibration import ThreadPlans
from facefusion.inference.interruption import Interruption
from facefusion.inference.pool import InferencePool
from facefusion.inference.runner import PooledGraph
from facefusion.inference.session import ModelFile
from facefusion.memory.video import MEBIBYTE
from facefusion.observability.events import EventSink, Notice

Runners: TypeAlias = Callable[[ModelCard], SignedGraph]
"""From a card to what runs its graph."""

CODE_ONLY = "code"
"""What a report names as the provider of a model without a graph."""


def open_store(snapshot: Snapshot, events: EventSink, stop: StopToken) -> ModelStore:
    """The model files of this machine; ``stop`` ends fetching."""
    folders = model_folders(snapshot.get(PathsSettings).models_path)
    mirrors = mirrors_of(snapshot.get(DownloadSettings).download_providers)
    return ModelStore(Catalogue.load(), folders, events, Fetcher(folders[0], events, stop, mirrors=mirrors))


def models_meant(catalogue: Catalogue, names: Iterable[str], scope: str) -> tuple[ModelCard, ...]:
    """The models of some names; without names those of a scope of ``--download-scope``.

    Raises:
        ModelError: there is no model of a name.
    """
    named = tuple(card for name in names for card in catalogue.named(name))
    return named or (catalogue.embedded() if scope == EMBEDDED else catalogue.cards())


def fetch_models(store: ModelStore, cards: Iterable[ModelCard], events: EventSink) -> None:
    """Fetch models with all that they run besides. One that cannot be had does not keep the others from coming.

    Raises:
        ModelError: some cannot be fetched.
        Stopped: a stop was asked for; the models fetched before are in place.
    """
    cards = tuple(cards)
    wanted = tuple({(card.kind, card.name): card for card in (*cards, *store.catalogue.companions(cards))}.values())
    failures: list[ModelError] = []
    # What comes in packages comes together, so that each package is downloaded once.
    packed = [card for card in wanted if card.embedded]
    for together in (packed, *([card] for card in wanted if not card.embedded)):
        try:
            store.ensure_all(together)
        except ModelError as error:
            failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        for failure in failures:
            events.emit(Notice(str(failure), warning=True))
        missing = [card.name for card in wanted if card.graph is not None and store.find(card) is None]
        raise ModelError(f"{len(missing)} models cannot be fetched: {', '.join(missing)}", "See above why.")


def worker_bytes(card: ModelCard) -> int:
    """Memory that one more run of a model's graph takes, beside its weights; 0 where the catalogue does not tell."""
    return int(card.number("worker_megabytes", 0)) * MEBIBYTE


class Models:
    """The models of one step: chosen, fetched, and handed out as runners.

    Args:
        store: finds and fetches files.
        choices: for each kind of model, the name chosen, or ``auto``.
        events: told which models were taken where the user left it open.
        threads: of the processor for one run of a graph.
        plans: for graphs that were found to run better otherwise, where several runs go on at once.
        further: kind and name of models beside those, of kinds that have one already.

    Raises:
        ModelError: a name is unknown, or a file cannot be fetched.
    """

    def __init__(
        self,
        store: ModelStore,
        choices: Mapping[str, str],
        events: EventSink,
        threads: int,
        plans: ThreadPlans | None = None,
        further: Iterable[tuple[str, str]] = (),
    ) -> None:
        self.cards: dict[str, ModelCard] = {}
        """For each kind of model, the one chosen."""
        made = {kind: store.resolve(kind, name) for kind, name in choices.items()}
        self.cards |= {kind: choice.card for kind, choice in made.items()}
        if account := store.account(made.values()):
            events.emit(Notice(account))
        self._catalogue = store.catalogue
        self._further = tuple(self._catalogue.card(name, kind) for kind, name in further)
        self.companions = {card.name: card for card in self._beside(self.cards.values())}
        """The further models, and those that all of these run beside their own, by name."""
        store.ensure_all(self._all)
        store.tell_terms(self._all)
        files = (
            ModelFile(card.name, store.ensure(card), threads, workspace=worker_bytes(card))
            for card in self._all
            if card.graph is not None
        )
        self._files = {file.name: file if plans is None else plans.apply(file, digest_of(file.path)) for file in files}
        self._graphs: dict[str, SignedGraph] = {}
        """Those that were handed out, by the model's name."""

    @property
    def _all(self) -> tuple[ModelCard, ...]:
        return (*self.cards.values(), *self.companions.values())

    def files(self, kinds: Iterable[str] | None = None) -> tuple[ModelFile, ...]:
        """Graph files of the given kinds of model, with what these run beside; of all where none are given."""
        chosen = list(self.cards.values()) if kinds is None else [self.cards[kind] for kind in kinds]
        names = dict.fromkeys(card.name for card in (*chosen, *self._beside(chosen)))
        return tuple(self._files[name] for name in names if name in self._files)

    def bytes_to_load(self, pool: InferencePool) -> tuple[int, ...]:
        """Size of each graph file that the pool holds no session of."""
        files = [file for file in dict.fromkeys(self._files.values()) if not pool.holds(file)]
        return tuple(file.path.stat().st_size for file in files)

    @cached_property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each graph file, by the model's name."""
        return {file.name: digest_of(file.path) for file in self.files()}

    def worker_megabytes(self, together: int) -> int:
        """Memory that one worker needs to run the graphs, at most one at a time, as the catalogue estimates it.

        Args:
            together: frames whose pictures go through a graph in one run, where it takes several.
        """
        return max(
            (worker_bytes(card) // MEBIBYTE * self._pictures_in_a_run(card, together) for card in self._all), default=0
        )

    def runners(self, pool: InferencePool, interruption: Interruption) -> Runners:
        """What makes the runner of a card's graph."""

        def runner(card: ModelCard) -> SignedGraph:
            graph = self._graphs[card.name] = PooledGraph(pool, self._files[card.name], interruption)
            return graph

        return runner

    def providers(self, pool: InferencePool) -> dict[str, str]:
        """Each model of the step that ran, and the execution provider it really got."""
        used = pool.models_used()
        names = {card.name: used.get(card.name) for card in self._all}
        return {
            name: provider or CODE_ONLY
            for name, provider in names.items()
            if provider is not None or name not in self._files
        }

    def _beside(self, chosen: Iterable[ModelCard]) -> tuple[ModelCard, ...]:
        return (*self._further, *self._catalogue.companions((*chosen, *self._further)))

    def _pictures_in_a_run(self, card: ModelCard, together: int) -> int:
        graph = self._graphs.get(card.name)
        if graph is None or not graph.signature.takes_several:
            return 1
        side = int(card.number("input_size", 0))
        return min(together, most_in_a_run(side, side) if side else PICTURES_AT_ONCE)
