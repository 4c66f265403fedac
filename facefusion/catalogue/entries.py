"""Turning the tables of ``catalogue.toml`` into cards, strictly: an unknown field is a mistake, not a comment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NoReturn, TypeAlias, TypeVar

from facefusion.catalogue.card import Download, GraphFile, ModelCard, Numbers, Part, Publication, Wheel
from facefusion.catalogue.collection import Collection
from facefusion.catalogue.convert import formats
from facefusion.core.errors import ModelError

_SHA256 = re.compile(r"[0-9a-f]{64}")
_NUMBERS = "numbers"
_LABELS = ("name", "role", "url", "file")
"""What a table is known by."""
EntryT = TypeVar("EntryT", Wheel, GraphFile, ModelCard, Collection)


Names: TypeAlias = Mapping[str, tuple[str, ...]]
"""Names of models, by their kind."""


@dataclass(frozen=True, slots=True)
class Entries:
    """What a catalogue says."""

    cards: tuple[ModelCard, ...]
    """Of the models that can be run."""
    preferences: Names
    """For each kind the preferred models that can be run, best first."""
    awaited: Names
    """Models that no code runs yet; some have an entry already."""
    collections: tuple[Collection, ...]


def read(table: Mapping[str, Any]) -> Entries:
    """Take a whole catalogue apart.

    Raises:
        ModelError: see :meth:`facefusion.catalogue.catalogue.Catalogue.parse`.
    """
    top = _Fields("the catalogue", table)
    wheels = _named(top.tables("wheel"), _wheel)
    files = _named(top.tables("file"), lambda fields: _file(fields, wheels))
    terms = top.texts("terms")
    everything = [replace(card, terms=terms.get(card.licence, "")) for card in _cards(top.tables("model"), files)]
    awaited = {kind: tuple(names) for kind, names in top.take("awaited", dict, {}).items()}
    ready = [card for card in everything if card.name not in awaited.get(card.kind, ())]
    names = {card.name for card in ready}
    for card in ready:
        for name in (name for name in card.companions if name not in names):
            raise ModelError(f"The model catalogue is wrong: model {card.name!r} runs {name!r}, which is awaited")
    preferences = {
        kind: tuple(name for name in names if _preferred(everything, kind, name) in ready)
        for kind, names in top.take("preferences", dict).items()
    }
    collections = _named(top.tables("collection"), _collection)
    top.finish()
    return Entries(
        tuple(ready),
        MappingProxyType(preferences),
        MappingProxyType(awaited),
        tuple(replace(one, terms=terms.get(one.licence, "")) for one in collections.values()),
    )


def _cards(tables: list[_Fields], files: Mapping[str, GraphFile]) -> list[ModelCard]:
    """All models. Two without a file may have the same name where they are of different kinds."""
    cards = [_card(fields, files) for fields in tables]
    for fields, card in zip(tables, cards, strict=True):
        fields.finish()
        twins = [one for one in cards if one.name == card.name and one is not card]
        if any(one.kind == card.kind or one.graph or card.graph for one in twins):
            fields.fail("is there twice")
    _check_files(cards)
    by_name = {card.name: card for card in cards}
    return [
        card if all(one.embedded for one in _beside(card, by_name)) else replace(card, embedded=False) for card in cards
    ]


def _beside(card: ModelCard, cards: Mapping[str, ModelCard], above: tuple[str, ...] = ()) -> Iterator[ModelCard]:
    """The models that a card runs beside its own, and those that these run.

    Raises:
        ModelError: one is not there, or runs itself by way of others.
    """
    path = (*above, card.name)
    for name in card.companions:
        if name in path:
            circle = " runs ".join(repr(one) for one in (*path[path.index(name) :], name))
            raise ModelError(f"The model catalogue is wrong: model {circle}")
        companion = _found(cards, name, f"model {card.name!r}")
        yield companion
        yield from _beside(companion, cards, path)


def _preferred(cards: Iterable[ModelCard], kind: str, name: str) -> ModelCard:
    return _found({card.name: card for card in cards if card.kind == kind}, name, f"preferences of {kind}")


def _check_files(cards: Iterable[ModelCard]) -> None:
    """Under one name lies one file."""
    files: dict[str, GraphFile] = {}
    for card in cards:
        for graph in card.graphs:
            if files.setdefault(graph.name, graph) != graph:
                raise ModelError(f"The model catalogue is wrong: model {card.name!r} has another {graph.name!r}")


def _named(tables: list[_Fields], make: Callable[[_Fields], EntryT]) -> dict[str, EntryT]:
    made: dict[str, EntryT] = {}
    for fields in tables:
        entry = make(fields)
        fields.finish()
        if entry.name in made:
            fields.fail("is there twice")
        made[entry.name] = entry
    return made


def _found(entries: Mapping[str, EntryT], name: str, where: str) -> EntryT:
    if name not in entries:
        raise ModelError(f"The model catalogue is wrong: {where} refers to {name!r}, which is not there")
    return entries[name]


def _wheel(fields: _Fields) -> Wheel:
    return Wheel(
        name=fields.take("name", str),
        version=fields.take("version", str),
        sha256=fields.sha256(),
        bytes=fields.take("bytes", int),
    )


def _file(fields: _Fields, wheels: Mapping[str, Wheel]) -> GraphFile:
    name = fields.take("name", str)
    graph = GraphFile(
        name=name,
        format=fields.take("format", str),
        options=MappingProxyType(fields.take("options", dict, {})),
        parts=tuple(_part(part, wheels) for part in fields.tables("part")),
        bytes=fields.take("bytes", int),
    )
    fault = formats.fault(graph)
    if fault:
        fields.fail(fault)
    return graph


def _part(fields: _Fields, wheels: Mapping[str, Wheel]) -> Part:
    wheel = fields.take("wheel", str, None)
    part = Part(
        role=fields.take("role", str),
        sha256=(sha256 := fields.sha256()),
        bytes=(size := fields.take("bytes", int)),
        wheel=None if wheel is None else _found(wheels, wheel, fields.where),
        member=fields.take("member", str, None),
        downloads=tuple(_download(download, sha256, size) for download in fields.tables("downloads")),
    )
    fields.finish()
    if (part.wheel is None) != (part.member is None):
        fields.fail("needs both wheel and member, or none")
    if part.wheel is None and not part.downloads:
        fields.fail("has no source")
    return part


def _download(fields: _Fields, sha256: str, size: int) -> Download:
    download = Download(
        url=fields.take("url", str), sha256=fields.sha256(sha256), bytes=fields.take("bytes", int, size)
    )
    fields.finish()
    return download


def _card(fields: _Fields, files: Mapping[str, GraphFile]) -> ModelCard:
    name = fields.take("name", str)
    graph = _graph(fields, files, name)
    return ModelCard(
        name=name,
        kind=fields.take("kind", str),
        family=fields.take("family", str),
        licence=fields.take("licence", str),
        vendor=fields.take("vendor", str),
        year=fields.take("year", int),
        origin=fields.take("origin", str, *_published_origin(graph)),
        file=graph.name if graph else None,
        embedded=graph is None or (graph.publication is None and all(part.wheel for part in graph.parts)),
        numbers=fields.numbers(),
        graph=graph,
        companions=tuple(fields.take("companions", list, [])),
        stand_ins=tuple(_stand_in(one) for one in fields.tables("stand_ins")),
    )


def _collection(fields: _Fields) -> Collection:
    base = fields.take("base", str, None)
    hosts = tuple(fields.take("hosts", list, []))
    if (base is None) != (not hosts):
        fields.fail("needs both base and hosts, or none")
    return Collection(
        name=fields.take("name", str),
        kind=fields.take("kind", str),
        family=fields.take("family", str),
        suffix=fields.take("suffix", str),
        licence=fields.take("licence", str),
        vendor=fields.take("vendor", str),
        year=fields.take("year", int),
        publication=None if base is None else Publication(base, hosts),
        numbers=fields.numbers(),
    )


def _graph(fields: _Fields, files: Mapping[str, GraphFile], model: str) -> GraphFile | None:
    """A file that FaceFusion published with a release, or one of the catalogue's files; none for code only."""
    release = fields.take("release", str, None)
    if release is not None:
        return _published(fields.take("file", str, f"{model}.onnx"), release)
    file = fields.take("file", str, None)
    return None if file is None else _found(files, file, fields.where)


def _stand_in(fields: _Fields) -> GraphFile:
    graph = _published(fields.take("file", str), fields.take("release", str))
    fields.finish()
    return graph


def _published_origin(graph: GraphFile | None) -> tuple[str, ...]:
    return () if graph is None or graph.publication is None else (f"FaceFusion, {graph.publication.base}",)


def _published(file: str, release: str) -> GraphFile:
    return GraphFile(file, formats.VERBATIM, MappingProxyType({}), (), 0, Publication(f"models-{release}"))


class _Fields:
    """One table, taken apart field by field."""

    def __init__(self, where: str, table: Mapping[str, Any]) -> None:
        self.where = where
        self._left = dict(table)

    def fail(self, fault: str) -> NoReturn:
        raise ModelError(f"The model catalogue is wrong: {self.where} {fault}")

    def take(self, name: str, kind: type, *default: Any) -> Any:  # noqa: ANN401 - TOML values
        """A field of the given type; missing is an error unless there is a default."""
        if name not in self._left:
            if default:
                return default[0]
            self.fail(f"lacks the field {name!r}")
        value = self._left.pop(name)
        if not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool):
            self.fail(f"has {value!r} for {name!r}")
        return value

    def sha256(self, *default: str) -> str:
        value: str = self.take("sha256", str, *default)
        if not _SHA256.fullmatch(value):
            self.fail(f"has {value!r} for 'sha256'")
        return value

    def texts(self, name: str) -> Mapping[str, str]:
        """A table of texts by name; none where it is not there."""
        taken: dict[str, Any] = self.take(name, dict, {})
        for key, value in taken.items():
            if not isinstance(value, str):
                self.fail(f"has {value!r} for {key!r} in {name!r}")
        return taken

    def tables(self, name: str) -> list[_Fields]:
        """An array of tables, each known by its own name where it has one."""
        tables = self.take(name, list, [])
        if not all(isinstance(table, dict) for table in tables):
            self.fail(f"has something else than tables for {name!r}")
        own = [next((table[name] for name in _LABELS if name in table), "?") for table in tables]
        return [_Fields(f"{name} {label!r}", table) for label, table in zip(own, tables, strict=True)]

    def numbers(self) -> Numbers:
        taken = self.take(_NUMBERS, dict, {})
        numbers = {name: tuple(value) if isinstance(value, list) else value for name, value in taken.items()}
        for name, value in numbers.items():
            parts = value if isinstance(value, tuple) else (value,)
            if not all(isinstance(part, int | float) for part in parts) and not isinstance(value, str):
                self.fail(f"has {value!r} for the number {name!r}")
        return MappingProxyType(numbers)

    def finish(self) -> None:
        if self._left:
            self.fail(f"has the unknown field {next(iter(self._left))!r}")
