"""The models: which are here and verified, which are not, and which a run would use."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from facefusion.app.content import second_models
from facefusion.app.model_names import model_choices_of
from facefusion.app.paths import model_folders
from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.store import ModelStore
from facefusion.config.settings import PathsSettings
from facefusion.core.errors import FaceFusionError, ModelError
from facefusion.core.storage import in_units
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Finding, fault, note, ok, warning
from facefusion.doctor.folders import nearest_folder, try_writing
from facefusion.observability.events import Event, Notice

TOPIC = "model"

REMEDY = "Choose another folder with --models-path."


class _Doubts:
    """Keeps what the store says of files that it does not trust."""

    def __init__(self) -> None:
        self._messages: dict[str, None] = {}

    def emit(self, event: Event) -> None:
        if isinstance(event, Notice) and event.warning:
            self._messages[event.message] = None

    def findings(self) -> Iterator[Finding]:
        for message in self._messages:
            yield warning(TOPIC, message.rstrip("."), "Remove it, or bring the right file.")


def findings(examination: Examination) -> Iterator[Finding]:
    """Verify every model file that is here. Files that were fetched are read only where they changed since."""
    folders = model_folders(examination.snapshot.get(PathsSettings).models_path)
    choices = model_choices_of(examination.snapshot)
    yield from model_findings(Catalogue.load(), folders, choices, second_models(examination.snapshot))


def model_findings(
    catalogue: Catalogue, folders: tuple[Path, ...], choices: Mapping[str, str], further: Iterable[tuple[str, str]] = ()
) -> Iterator[Finding]:
    """What is in the folders of models, and what a run lacks.

    Args:
        catalogue: what there is.
        folders: to look in; new files go into the first.
        choices: for each kind of model that a run may need, the name chosen, or ``auto``.
        further: kind and name of models beside those.
    """
    doubts = _Doubts()
    store = ModelStore(catalogue, folders, doubts)
    chosen, refusals = _choose(store, (*choices.items(), *further))
    for card in catalogue.cards():
        if card.graph is None:
            continue
        path = store.find(card)
        if path is not None:
            yield ok(TOPIC, f"{card.name}: {path}, {in_units(path.stat().st_size)}, verified")
        elif card.embedded or card in chosen:
            size = f" ({in_units(_download(card))})" if _download(card) else ""
            text = f"{card.name} is not here; it is fetched when it is first needed{size}"
            yield note(TOPIC, text, f"To have it before: facefusion.py force-download {card.name}")
    yield from doubts.findings()
    yield from refusals
    yield ok(TOPIC, f"a run with these settings uses {', '.join(card.name for card in chosen) or 'none'}")
    missing = [card for card in chosen if not store.is_at_hand(card)]
    if missing:
        yield from _lack(missing, nearest_folder(folders[0]))


def _choose(store: ModelStore, choices: Iterable[tuple[str, str]]) -> tuple[list[ModelCard], list[Finding]]:
    cards, refusals = [], []
    for kind, name in choices:
        if not store.catalogue.cards(kind):  # there are none of it yet, so nothing can need one
            continue
        try:
            cards.append(store.resolve(kind, name).card)
        except ModelError as error:
            refusals.append(Finding.of_error(TOPIC, error))
    return cards, refusals


def _lack(missing: Iterable[ModelCard], folder: Path) -> Iterator[Finding]:
    """What stands in the way of fetching."""
    names = ", ".join(card.name for card in missing)
    needed = sum(_download(card) + card.graph.bytes for card in missing if card.graph is not None)
    try:
        try_writing(folder, REMEDY)
        free = shutil.disk_usage(folder).free
    except FaceFusionError as error:
        yield fault(TOPIC, f"{names} cannot be fetched: {error.fault}", error.remedy)
        return
    if free < needed:
        text = f"{names} cannot be fetched: that takes {in_units(needed)}, and {folder} has {in_units(free)} free"
        yield fault(TOPIC, text, f"Free some space. {REMEDY}")


def _download(card: ModelCard) -> int:
    """Bytes to download, as far as they are known: whole packages, each once."""
    if card.graph is None:
        return 0
    wheels = {part.wheel.requirement: part.wheel.bytes for part in card.graph.parts if part.wheel is not None}
    loose = [part.bytes for part in card.graph.parts if part.wheel is None]
    return sum(wheels.values()) + sum(loose)
