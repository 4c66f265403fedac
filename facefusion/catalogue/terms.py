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

    Where that cannot be noted in the folder they are told each time.
    """
    file = folder / TOLD
    told: set[str] = set()
    with contextlib.suppress(OSError):
        told.update(file.read_text(encoding="utf-8", errors="replace").splitlines())
    # A model that was chosen may also be one that another runs beside its own.
    fresh = {card.name: card for card in cards if card.terms and card.name not in told}
    if not fresh:
        return
    when = "This is said once" if _noted(fresh, file) else f"This is said each time, as {file} cannot be written"
    for card in fresh.values():
        sentence = f"The model {card.name} (by {card.vendor}, licence: {card.licence}) {card.terms}. {when}."
        events.emit(Notice(sentence, warning=True))


def _noted(names: Iterable[str], file: Path) -> bool:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as notes:
            notes.writelines(f"{name}\n" for name in names)
    except OSError:
        return False
    return True
