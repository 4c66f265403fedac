"""The list of all models, read from ``catalogue.toml``."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from facefusion.catalogue import entries
from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError

_FILE = Path(__file__).with_name("catalogue.toml")


class Catalogue:
    """All models by name, and what ``auto`` prefers for each kind. Immutable."""

    def __init__(
        self,
        cards: Iterable[ModelCard],
        preferences: Mapping[str, tuple[str, ...]],
        awaited: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._cards = {card.name: card for card in cards}
        self._preferences = dict(preferences)
        self._awaited = dict(awaited or {})

    @classmethod
    def load(cls) -> Catalogue:
        """The catalogue of this program; read once per process."""
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
        return cls(*entries.read(table))

    def card(self, name: str) -> ModelCard:
        """The entry of a model.

        Raises:
            ModelError: no model has that name, and the message names the nearest ones; or it is one that users know and
                this version cannot run.
        """
        if name in self._cards:
            return self._cards[name]
        for kind, names in self._awaited.items():
            if name in names:
                known = ", ".join(("auto", *(card.name for card in self.cards(kind)))) if self.names(kind) else "none"
                raise ModelError(
                    f"The {kind.replace('_', ' ')} {name} cannot be run by this version", f"Those that can: {known}."
                )
        near = difflib.get_close_matches(name, self._cards, n=3)
        remedy = f"Did you mean {' or '.join(near)}?" if near else f"Known models: {', '.join(sorted(self._cards))}."
        raise ModelError(f"There is no model named {name!r}", remedy)

    def cards(self, kind: str | None = None) -> tuple[ModelCard, ...]:
        """All entries, or those of one kind, in the order of the catalogue."""
        return tuple(card for card in self._cards.values() if kind in (None, card.kind))

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
        found: dict[str, ModelCard] = {}
        left = [name for card in cards for name in card.companions]
        while left:
            name = left.pop(0)
            if name not in found:
                found[name] = self._cards[name]
                left += self._cards[name].companions
        return tuple(found.values())

    def embedded(self) -> tuple[ModelCard, ...]:
        """The models that pip alone can bring."""
        return tuple(card for card in self.cards() if card.embedded)

    def preferred(self, kind: str) -> tuple[ModelCard, ...]:
        """What ``auto`` stands for: the models of a kind to look for, best first.

        Raises:
            ModelError: the catalogue has no preference for this kind.
        """
        if kind not in self._preferences:
            raise ModelError(f"The catalogue says no preferred model for {kind}", "Name a model.")
        return tuple(self._cards[name] for name in self._preferences[kind])


@cache
def _load() -> Catalogue:
    return Catalogue.parse(_FILE.read_text(encoding="utf-8"))
