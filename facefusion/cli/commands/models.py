"""Lists the models there are, and takes in models of the user's own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from facefusion.app.inventory import Stock, take_stock
from facefusion.catalogue.settings import JSON, ModelsSettings
from facefusion.cli.command import Context
from facefusion.core.errors import UsageError
from facefusion.core.storage import in_units
from facefusion.core.wording import printable

SCHEMA = 1
"""Of the JSON document. It rises when a field goes or changes its meaning."""
IMPORT = "import"


def execute(context: Context) -> int:
    """List all models, or import one; a list, or the name of the new model, goes to the output stream."""
    match context.words:
        case ():
            return _list(context)
        case (word, file) if word == IMPORT:
            return _import(context, Path(file))
        case _:
            raise UsageError(
                f"models: {printable(' '.join(context.words))} is nothing that can be done with models",
                "Name nothing to list them, or: import FILE [--like MODEL].",
            )


def _list(context: Context) -> int:
    snapshot = context.state.snapshot
    stock = take_stock(snapshot, context.events, context.stop)
    as_json = snapshot.get(ModelsSettings).models_format == JSON
    context.write(document(stock) if as_json else table(stock))
    return 0


def _import(context: Context, source: Path) -> int:
    # Families come in with OpenCV and ONNX Runtime, which a list does without.
    from facefusion.app.importing import take_in, wording  # noqa: PLC0415

    snapshot = context.state.snapshot
    settings = snapshot.get(ModelsSettings)
    taken = take_in(snapshot, source, settings.name, settings.like)
    card = taken.card
    found = "" if settings.like else f", like {taken.like.name} by what it takes and gives (--like can say otherwise)"
    option = f"--{card.kind.replace('_', '-')}-model {card.name}"
    context.terminal.line(f"{card.name} is a {wording(card.kind)} now{found}, to be used with {option}.")
    context.write(f"{card.name}\n")
    return 0


def table(stock: Sequence[Stock]) -> str:
    """One line for each model: name, kind, whether it is here, size, licence."""
    rows = [("MODEL", "KIND", "HERE", "SIZE", "LICENCE"), *map(_row, stock)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{printable(line.rstrip())}\n" for line in lines)


def _row(one: Stock) -> tuple[str, str, str, str, str]:
    size = "" if one.bytes is None else in_units(one.bytes)
    return one.card.name, one.card.kind, one.presence.value, size, one.card.licence


def document(stock: Sequence[Stock]) -> str:
    """The same as JSON, with all that is known of each model."""
    models = [
        {
            "name": one.card.name,
            "kind": one.card.kind,
            "family": one.card.family,
            "presence": one.presence.value,
            "path": None if one.path is None else str(one.path),
            "bytes": one.bytes,
            "embedded": one.card.embedded,
            "companions": list(one.card.companions),
            "licence": one.card.licence,
            "terms": one.card.terms or None,
            "vendor": one.card.vendor,
            "year": one.card.year,
            "origin": one.card.origin,
        }
        for one in stock
    ]
    return json.dumps({"schema": SCHEMA, "models": models}, indent=2) + "\n"
