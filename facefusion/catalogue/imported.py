"""Models of the user's own: graphs of a family that the catalogue knows, under a name that they choose.

Their files lie in a folder of their own within a folder of models, and a list beside that says which model of the
catalogue each is like: family, size, template and all other numbers are that one's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from facefusion.catalogue.card import GraphFile, ModelCard
from facefusion.catalogue.convert.formats import VERBATIM
from facefusion.core.errors import ModelError

LIST = "imported.json"
FOLDER = "imported"
LONGEST_NAME = 128
"""Characters. Names of files may have 255, and this program puts some of its own before and behind it."""
NAME = re.compile(rf"[A-Za-z0-9][\w.-]{{0,{LONGEST_NAME - 1}}}", re.ASCII)
"""What a model may be called: it becomes the name of a file, and stands in job files."""
UNKNOWN = "unknown"
LIKE, FROM = "like", "from"
"""What the list says of each: the model that it is like, and the file that it was made from."""


def imported_cards(folder: Path, cards: Iterable[ModelCard]) -> tuple[ModelCard, ...]:
    """The models imported into a folder of models.

    Args:
        folder: need not be there.
        cards: of the catalogue.

    Raises:
        ModelError: the list is damaged, or a model is like one that the catalogue does not have.
    """
    known = {card.name: card for card in cards if card.graph is not None}
    found = []
    for name, about in read_list(folder).items():
        if about[LIKE] not in known:
            raise ModelError(
                f"The imported model {name} is like {about[LIKE]!r}, which this version does not have",
                f"Take it out of {folder / LIST}.",
            )
        found.append(imported_card(name, known[about[LIKE]], about[FROM]))
    return tuple(found)


def imported_card(name: str, like: ModelCard, source: str) -> ModelCard:
    """The entry of an imported model."""
    graph = GraphFile(f"{FOLDER}/{name}.onnx", VERBATIM, MappingProxyType({}), (), 0)
    return replace(
        like,
        name=name,
        licence=UNKNOWN,
        vendor=UNKNOWN,
        origin=f"imported from {source}",
        file=graph.name,
        graph=graph,
        embedded=False,
        stand_ins=(),
        terms="",
    )


def read_list(folder: Path) -> dict[str, dict[str, str]]:
    """What a folder of models says of those imported into it, by name.

    Raises:
        ModelError: it is damaged.
    """
    path = folder / LIST
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return dict(_entries(table))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelError(
            f"{path}, the list of imported models, cannot be read", "Remove it, and import them again."
        ) from error


def _entries(table: Mapping[str, Mapping[str, object]]) -> Iterator[tuple[str, dict[str, str]]]:
    for name, about in table.items():
        if not NAME.fullmatch(name):
            raise ValueError(name)
        yield name, {key: str(about[key]) for key in (LIKE, FROM)}
