"""Saying what the licences of models do not allow: once for each model, not with every run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from facefusion.catalogue.card import ModelCard
from facefusion.observability.events import EventSink, Notice

TOLD = ".licences-told"
"""File in a folder of models that holds the names of those whose terms were told, one a line."""


def tell_terms(cards: Iterable[ModelCard], folder: Path, events: EventSink) -> None:
    """Tell the terms of those models whose licence does not allow every use, where nobody told them before.

    Where nothing can be written into the folder they are told each time.
    """
    file = folder / TOLD
    told: set[str] = set()
    with contextlib.suppress(OSError):
        told.update(file.read_text(encoding="utf-8", errors="replace").splitlines())
    # A model that was chosen may also be one that another runs beside its own.
    fresh = {card.name: card for card in cards if card.terms and card.name not in told}
    for card in fresh.values():
        sentence = f"The model {card.name} (by {card.vendor}, licence: {card.licence}) {card.terms}. This is said once."
        events.emit(Notice(sentence, warning=True))
    if fresh:
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as notes:
                notes.writelines(f"{name}\n" for name in fresh)
