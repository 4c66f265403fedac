"""What models there are, and which of them lie on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from facefusion.app.models import open_store
from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.store import ModelStore
from facefusion.catalogue.verify import checksum_path, record_path
from facefusion.config.state import Snapshot
from facefusion.core.stop import StopToken
from facefusion.core.wording import shown
from facefusion.observability.events import EventSink, Notice, StageFinished, StageProgress, StageStarted


class Presence(Enum):
    """Whether a model can be used."""

    VERIFIED = "verified"
    """Its file is here and what it should be."""
    DISTRUSTED = "not verified"
    """Its file is here, and is not used."""
    MISSING = "missing"
    """It is fetched when it is first used."""
    OWN = "your own"
    """Its file is here, and used as it is."""
    CODE = "code"
    """It has no file."""


@dataclass(frozen=True, slots=True)
class Stock:
    """A model and where it stands on this machine."""

    card: ModelCard
    presence: Presence
    path: Path | None
    """Of its verified file."""
    bytes: int | None
    """Size of its file; of one that is missing as far as the catalogue knows it."""


def take_stock(snapshot: Snapshot, events: EventSink, stop: StopToken) -> list[Stock]:
    """Look for every model of the catalogue, kind by kind, and verify what is there; of collections for what is there.

    Files that this program fetched are read only where they changed; those that FaceFusion left are read whole.

    Args:
        snapshot: says where models lie.
        events: told about each file that cannot be trusted, and how far this is.
        stop: looked at between models.

    Raises:
        Stopped: a stop was asked for.
    """
    store = open_store(snapshot, events, stop)
    kinds = store.catalogue.kinds
    cards = sorted(store.catalogue.cards(), key=lambda card: kinds.index(card.kind))
    cards += _collected(store)
    events.emit(StageStarted("Looking for models", len(cards), "model"))
    stock = []
    for card in cards:
        stop.check()
        stock.append(_stock(store, card))
        events.emit(StageProgress())
    events.emit(StageFinished(complete=True))
    if strangers := _strangers(store):
        names = shown(", ".join(map(str, strangers)))
        events.emit(Notice(f"No model of the catalogue runs from these files: {names}. models import takes one in."))
    return stock


def _stock(store: ModelStore, card: ModelCard) -> Stock:
    if card.graph is None:
        missing = [one for one in store.catalogue.companions([card]) if not store.is_at_hand(one)]
        return Stock(card, Presence.MISSING if missing else Presence.CODE, None, None)
    path = store.find(card)
    if path is not None:
        presence = Presence.OWN if card.graph.own else Presence.VERIFIED
        return Stock(card, presence, path, path.stat().st_size)
    presence = Presence.DISTRUSTED if any(_there(store, card)) else Presence.MISSING
    return Stock(card, presence, None, card.graph.bytes or None)


def _collected(store: ModelStore) -> list[ModelCard]:
    """The models of collections that have a file here, by name."""
    found = {}
    for collection in store.catalogue.collections:
        for folder in store.folders:
            for path in (folder / collection.name).glob(f"*{collection.suffix}"):
                found[collection.name, path.stem] = collection.card(path.stem)
    return [found[key] for key in sorted(found)]


def _strangers(store: ModelStore) -> list[Path]:
    """Graphs in the folders of models that no entry knows and nobody vouches for, as FaceFusion does for its own."""
    known = {graph.name for card in store.catalogue.cards() for graph in card.graphs}
    graphs = (path for folder in store.folders for path in sorted(folder.glob("*.onnx")))
    vouched = (record_path, checksum_path)
    return [path for path in graphs if path.name not in known and not any(of(path).exists() for of in vouched)]


def _there(store: ModelStore, card: ModelCard) -> Iterator[bool]:
    for graph in card.graphs:
        for folder in store.folders:
            path = folder / graph.name
            yield path.is_file() or path.is_symlink()
