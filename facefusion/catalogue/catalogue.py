"""The list of all models, read from ``catalogue.toml``."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from facefusion.catalogue import entries
from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.collection import SEPARATOR, Collection
from facefusion.catalogue.imported import imported_cards
from facefusion.core.errors import ModelError
from facefusion.core.home import own_models

_FILE = Path(__file__).with_name("catalogue.toml")


class Catalogue:
    """All models by name, and what ``auto`` prefers for each kind. Immutable."""

    def __init__(
        self,
        cards: Iterable[ModelCard],
        preferences: Mapping[str, tuple[str, ...]],
        awaited: Mapping[str, tuple[str, ...]] | None = None,
        collections: Iterable[Collection] = (),
    ) -> None:
        self._cards = tuple(cards)
        self._preferences = dict(preferences)
        self._awaited = dict(awaited or {})
        self._collections = {collection.name: collection for collection in collections}

    @classmethod
    def load(cls) -> Catalogue:
        """The catalogue of this program, with the models that its user imported; read once per process.

        Raises:
            ModelError: the list of imported models is damaged.
        """
        return _load()

    @classmethod
    def parse(cls, text: str) -> Catalogue:
        """Read a catalogue.

        Raises:
            ModelError: no TOML; a field missing, unknown or of the wrong type; a name used twice; a reference to a
                wheel, file or model that is not there.
        """
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ModelError(f"The model catalogue is no TOML: {error}", "Install the program again.") from error
        found = entries.read(table)
        return cls(found.cards, found.preferences, found.awaited, found.collections)

    def with_cards(self, cards: Iterable[ModelCard]) -> Catalogue:
        """The same catalogue with further models behind its own."""
        return Catalogue((*self._cards, *cards), self._preferences, self._awaited, self.collections)

    def card(self, name: str, kind: str | None = None) -> ModelCard:
        """The entry of a model, of one kind where that is given.

        Raises:
            ModelError: see :meth:`named`; or it is of another kind.
        """
        found = self.named(name, kind)
        card = next((card for card in found if kind in (None, card.kind)), None)
        if card is None:
            raise ModelError(
                f"The model {name!r} is a {found[0].kind}, no {kind}",
                f"Choose from {', '.join(self.names(str(kind)))}.",
            )
        return card

    def named(self, name: str, kind: str | None = None) -> tuple[ModelCard, ...]:
        """The entries of that name, one for each kind of model; ``kind`` is the one that is wanted.

        Raises:
            ModelError: no model has that name, and the message names the nearest ones; or it is one that users know and
                this version cannot run.
        """
        waits_for = [one for one, names in self._awaited.items() if name in names and kind in (None, one)]
        found = tuple(card for card in self._cards if card.name == name)
        if found and kind not in waits_for:
            return found
        if SEPARATOR in name:
            return (self._collected(name),)
        for one in waits_for:
            known = ", ".join(("auto", *self.names(one))) if self.names(one) else "none"
            raise ModelError(
                f"The {one.replace('_', ' ')} {name} cannot be run by this version", f"Those that can: {known}."
            )
        names = dict.fromkeys(card.name for card in self._cards)
        near = difflib.get_close_matches(name, names, n=3)
        remedy = f"Did you mean {' or '.join(near)}?" if near else f"Known models: {', '.join(sorted(names))}."
        raise ModelError(f"There is no model named {name!r}", remedy)

    def _collected(self, name: str) -> ModelCard:
        """The model of a collection, named COLLECTION/NAME."""
        collection, _, model = name.partition(SEPARATOR)
        if not model or set(model) & set("/\\"):
            raise ModelError(f"{name!r} is no name of a model", "Models of a collection are named COLLECTION/NAME.")
        if collection not in self._collections:
            raise ModelError(
                f"There is no collection of models named {collection!r}",
                f"Known are {', '.join(self._collections) or 'none'}.",
            )
        return self._collections[collection].card(model)

    @property
    def collections(self) -> tuple[Collection, ...]:
        """The entries that stand for any number of models."""
        return tuple(self._collections.values())

    def cards(self, kind: str | None = None) -> tuple[ModelCard, ...]:
        """All entries, or those of one kind, in the order of the catalogue."""
        return tuple(card for card in self._cards if kind in (None, card.kind))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every kind of model, those that are awaited among them."""
        return tuple(dict.fromkeys((*(card.kind for card in self._cards), *self._awaited)))

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of all models of a kind, in the order of the catalogue."""
        return tuple(card.name for card in self.cards(kind))

    def choices(self, kind: str) -> tuple[str, ...]:
        """What users may name of a kind, models that no code runs yet among them."""
        return (*self.names(kind), *self.awaited(kind))

    def awaited(self, kind: str) -> tuple[str, ...]:
        """Names of models of a kind that users know and no code runs yet."""
        return self._awaited.get(kind, ())

    def companions(self, cards: Iterable[ModelCard]) -> tuple[ModelCard, ...]:
        """The models that the given ones run beside their own, and those that these run, each once."""
        by_name = {card.name: card for card in self._cards}
        found: dict[str, ModelCard] = {}
        left = [name for card in cards for name in card.companions]
        while left:
            name = left.pop(0)
            if name not in found:
                found[name] = by_name[name]
                left += found[name].companions
        return tuple(found.values())

    def embedded(self) -> tuple[ModelCard, ...]:
        """The models that pip alone can bring."""
        return tuple(card for card in self.cards() if card.embedded)

    def preferred(self, kind: str) -> tuple[ModelCard, ...]:
        """What ``auto`` stands for: the models of a kind to look for, best first; at least one.

        Raises:
            ModelError: the catalogue has no preference for this kind.
        """
        if not self._preferences.get(kind):
            raise ModelError(f"The catalogue says no preferred model for {kind}", "Name a model.")
        return tuple(self.card(name, kind) for name in self._preferences[kind])


@cache
def _load() -> Catalogue:
    catalogue = Catalogue.parse(_FILE.read_text(encoding="utf-8"))
    return catalogue.with_cards(imported_cards(own_models(), catalogue.cards()))
