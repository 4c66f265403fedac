"""The model files on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from facefusion.catalogue import verify
from facefusion.catalogue.card import GraphFile, ModelCard
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.fetch import Fetcher
from facefusion.catalogue.imported import LIST
from facefusion.catalogue.names import AUTO
from facefusion.catalogue.terms import tell_terms
from facefusion.core.access import looking
from facefusion.core.errors import ModelError
from facefusion.core.wording import shown
from facefusion.observability.events import EventSink, Notice

REMEDY = "Change the permissions of its folder, or name another one with --models-path."


@dataclass(frozen=True, slots=True)
class Choice:
    """The model that a choice came down to."""

    card: ModelCard
    is_named: bool = True
    """Whether the user named it."""
    missed: ModelCard | None = None
    """What would have been taken before it, were it on this machine."""


class ModelStore:
    """Finds, verifies and fetches the files of models. Used by one thread; several processes may share the folders.

    Args:
        catalogue: what there is.
        folders: where to look, in this order; new files go into the first. Those that do not exist are skipped.
        events: told about fetching, and about files that cannot be trusted.
        fetcher: brings files into the first folder; made where it is not given.
    """

    def __init__(
        self, catalogue: Catalogue, folders: Sequence[Path], events: EventSink, fetcher: Fetcher | None = None
    ) -> None:
        self.catalogue = catalogue
        self.folders = tuple(folders)
        """Where it looks, in this order."""
        self._events = events
        self._fetcher = fetcher or Fetcher(self.folders[0], events)
        self._distrusted: set[Path] = set()

    def find(self, card: ModelCard) -> Path | None:
        """The verified file of a model; none where it is not there, or the model is code only.

        A file that cannot be verified is named once in a notice and left alone.

        Raises:
            ModelError: the system does not let us look for the file, or read it.
        """
        for graph in card.graphs:
            for folder in self.folders:
                path = folder / graph.name
                with looking(ModelError, f"the model {shown(str(path))}", REMEDY):
                    if (path.is_file() or path.is_symlink()) and self._is_trusted(path, graph):
                        return path
        return None

    def ensure(self, card: ModelCard) -> Path:
        """The verified file of a model, fetched where it is missing.

        Raises:
            ModelError: it cannot be fetched.
            ValueError: the model is code only.
        """
        if card.graph is None:
            raise ValueError(f"{card.name} is code only and has no file")
        self.ensure_all([card])
        found = self.find(card)
        if found is None:
            raise ModelError(f"{card.graph.name} was fetched but cannot be verified", "Please report this.")
        return found

    def ensure_all(self, cards: Iterable[ModelCard]) -> None:
        """Fetch whatever is missing of the models' files, together, so that each package is downloaded once.

        Raises:
            ModelError: a file cannot be fetched, or only the user can bring it.
        """
        missing = {card.graph.name: card.graph for card in cards if card.graph is not None and self.find(card) is None}
        for name in (name for name, graph in missing.items() if graph.own):
            places = " or ".join(str(folder / name) for folder in self.folders)
            raise ModelError(f"There is no {name}", f"Put the file there as {shown(places)}, or choose another model.")
        for graph in missing.values():
            self._check_imported(graph)
        if missing:
            self._fetcher.fetch(tuple(missing.values()))

    def _check_imported(self, graph: GraphFile) -> None:
        """Say what became of the file of a missing model, where the user imported it and nobody else has it."""
        if not graph.is_imported:
            return
        remedy = "Import it again, or choose another model."
        for path in (folder / graph.name for folder in self.folders):
            if path.is_file():
                raise ModelError(
                    f"The imported model {shown(str(path))} was altered: {verify.fault(path, graph)}", remedy
                )
        path = next((folder for folder in self.folders if (folder / LIST).is_file()), self.folders[0]) / graph.name
        raise ModelError(f"The imported model {shown(str(path))} is not there any more", remedy)

    def tell_terms(self, cards: Iterable[ModelCard]) -> None:
        """Say once what the licences of models that are used do not allow."""
        tell_terms(cards, self.folders[0], self._events)

    def is_at_hand(self, card: ModelCard) -> bool:
        """Whether the model, and those that it runs beside its own, run without fetching anything."""
        needed = (card, *self.catalogue.companions([card]))
        return all(one.graph is None or self.find(one) is not None for one in needed)

    def resolve(self, kind: str, choice: str) -> Choice:
        """The model that users mean by ``choice``.

        ``auto`` is the first model of the catalogue's preference that is at hand, else the first that pip can bring,
        and where pip brings none of that kind the first of all. A name is always obeyed. Nothing is fetched.

        Raises:
            ModelError: no such model, or one of another kind; or nothing is known of the kind.
        """
        if choice != AUTO:
            return Choice(self.catalogue.card(choice, kind))
        preferred = self.catalogue.preferred(kind)
        ready = (card for card in preferred if self._is_ready(card))
        brought = (card for card in preferred if card.embedded)
        chosen = next(chain(ready, brought, preferred))
        return Choice(chosen, is_named=False, missed=None if chosen is preferred[0] else preferred[0])

    def account(self, choices: Iterable[Choice]) -> str:
        """What the user should know of models that they left open: which were taken, and how to get better ones.

        Empty where they named them all.
        """
        open_ones = [choice for choice in choices if not choice.is_named]
        if not open_ones:
            return ""
        taken = f"Models taken: {', '.join(choice.card.name for choice in open_ones)}."
        missed = [choice.missed for choice in open_ones if choice.missed is not None]
        if not missed:
            return taken
        names = [card.name for card in missed]
        files = self._brought(missed[0]) if len(missed) == 1 else "their files"
        one = names[0] if len(names) == 1 else "NAME"
        return (
            f"{taken} Preferred, but not on this machine: {', '.join(names)}; force-download {one} fetches "
            f"{'it' if len(names) == 1 else 'one'}, or put {files} into {self.folders[0]}."
        )

    def _brought(self, card: ModelCard) -> str:
        """What a user has to bring of a model."""
        if card.graph is None:
            return f"the files of {', '.join(one.name for one in self.catalogue.companions([card]))}"
        if card.graph.publication is None:
            return card.graph.name
        return f"{card.graph.name} and {verify.checksum_path(Path(card.graph.name))}"

    def _is_ready(self, card: ModelCard) -> bool:
        """Whether the model runs with nothing fetched but what pip brings for it to run besides.

        Else a first run, which fetches just that, would choose another model than the next one.
        """
        beside = (one for one in self.catalogue.companions([card]) if not one.embedded)
        return all(one.graph is None or self.find(one) is not None for one in (card, *beside))

    def _is_trusted(self, path: Path, graph: GraphFile) -> bool:
        fault = verify.fault(path, graph) if path.is_file() else "it is a link to a file that is not there"
        if fault and path not in self._distrusted:
            self._distrusted.add(path)
            self._events.emit(Notice(f"{path} is not used: {fault}.", warning=True))
        return not fault
