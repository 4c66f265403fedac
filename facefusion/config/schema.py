"""All options of the program in one table, collected from the settings groups."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from facefusion.config.option import METADATA_KEY, Option, group_info

Choices: TypeAlias = Callable[[], Sequence[str]]
"""Gives the allowed values of an option when they are asked for."""

SCALARS = (str, int, float, bool, Path)


@dataclass(frozen=True, slots=True)
class ValueType:
    """What the annotation of an option's field says."""

    scalar: type
    """One of :data:`SCALARS`."""
    is_list: bool = False
    """A ``tuple`` of any number of scalars."""
    optional: bool = False
    """``None`` is allowed, and means not set."""

    @property
    def is_flag(self) -> bool:
        """A switch, which takes no value on the command line."""
        return self.scalar is bool and not self.is_list


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """One option with everything that its declaration says about it."""

    name: str
    group: type
    type: ValueType
    default: Any
    about: Option
    section: str
    commands: tuple[str, ...]
    choices: Choices | None
    awaited: Choices
    """Values that users know and this version cannot serve yet."""
    is_idle: bool
    """Whether it has no effect yet."""

    @property
    def flag(self) -> str:
        """The long flag of the command line."""
        return flag_of(self.name)

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"FACEFUSION_{self.name.upper()}"

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Every section and key under which the ini file may hold it, the canonical one first."""
        if not self.about.in_ini:
            return ()
        aliases = tuple((self.section, alias) for alias in self.about.aliases)
        return ((self.section, self.name), *aliases, *self.about.ini_aliases)


class Schema:
    """The options of the program, in the order of their declaration."""

    def __init__(self, specs: Iterable[OptionSpec]) -> None:
        self._specs: dict[str, OptionSpec] = {}
        self._names: dict[str, OptionSpec] = {}
        self._places: dict[tuple[str, str], OptionSpec] = {}
        for spec in specs:
            self._specs[spec.name] = spec
            for name in (spec.name, *spec.about.aliases):
                self._claim(self._names, name, spec)
            for place in spec.places:
                self._claim(self._places, place, spec)

    @classmethod
    def of(
        cls,
        groups: Iterable[type],
        choices: Mapping[str, Choices] | None = None,
        awaited: Mapping[str, Choices] | None = None,
    ) -> Schema:
        """Collect the options of settings groups.

        Args:
            groups: classes made with :func:`facefusion.config.option.settings_group`.
            choices: allowed values of options whose group cannot know them, by the option's name.
            awaited: for such options the values that users know and this version cannot serve yet.

        Raises:
            TypeError: a declaration cannot be understood, or two options claim the same name.
        """
        return cls(spec for group in groups for spec in _specs_of(group, choices or {}, awaited or {}))

    def __iter__(self) -> Iterator[OptionSpec]:
        return iter(self._specs.values())

    def __getitem__(self, name: str) -> OptionSpec:
        return self._names[name]

    @property
    def groups(self) -> tuple[type, ...]:
        """The settings groups, in the order of their declaration."""
        return tuple(dict.fromkeys(spec.group for spec in self))

    @property
    def sections(self) -> tuple[str, ...]:
        """Sections of the ini file, in the order of their first option."""
        return tuple(dict.fromkeys(spec.section for spec in self if spec.about.in_ini))

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that an option goes by, older ones too."""
        return tuple(self._names)

    def get(self, name: str) -> OptionSpec | None:
        """The option of that name or older name, if there is one."""
        return self._names.get(name)

    def at(self, section: str, key: str) -> OptionSpec | None:
        """The option that the ini file holds under ``key`` in ``section``, if there is one."""
        return self._places.get((section, key))

    def places(self) -> tuple[tuple[str, str], ...]:
        """Every section and key that the ini file may hold."""
        return tuple(self._places)

    def of_command(self, command: str) -> tuple[OptionSpec, ...]:
        """The options that a command takes."""
        return tuple(spec for spec in self if command in spec.commands)

    def of_section(self, section: str) -> tuple[OptionSpec, ...]:
        """The options of one section of the ini file."""
        return tuple(spec for spec in self if spec.section == section and spec.about.in_ini)

    @staticmethod
    def _claim(table: dict[Any, OptionSpec], key: object, spec: OptionSpec) -> None:
        if key in table:
            raise TypeError(f"{spec.group.__name__}.{spec.name}: {key!r} already means {table[key].group.__name__}")
        table[key] = spec


def flag_of(name: str) -> str:
    """The long flag of an option's name."""
    return "--" + name.replace("_", "-")


def _specs_of(group: type, choices: Mapping[str, Choices], awaited: Mapping[str, Choices]) -> Iterator[OptionSpec]:
    info = group_info(group)
    annotations = typing.get_type_hints(group)
    for field in dataclasses.fields(group):
        about = field.metadata.get(METADATA_KEY)
        if not isinstance(about, Option):
            raise TypeError(f"{group.__name__}.{field.name} is no option; give it option(default, help)")
        yield OptionSpec(
            name=field.name,
            group=group,
            type=_value_type(annotations[field.name], f"{group.__name__}.{field.name}"),
            default=field.default,
            about=about,
            section=about.section or info.section,
            commands=info.commands_of(about),
            choices=choices.get(field.name) or (None if about.choices is None else _late(about.choices)),
            awaited=awaited.get(field.name) or _late(about.awaited),
            is_idle=info.awaited or bool(about.pending),
        )


def _late(choices: Sequence[str] | Choices) -> Choices:
    if callable(choices):
        return choices
    fixed = tuple(choices)
    return lambda: fixed


def _value_type(annotation: Any, where: str) -> ValueType:  # noqa: ANN401 - an annotation is any object
    optional = False
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        parts = typing.get_args(annotation)
        optional = type(None) in parts
        (annotation, *rest) = [part for part in parts if part is not type(None)]
        if rest:
            raise TypeError(f"{where}: an option has one type, or one type and None")
    is_list = typing.get_origin(annotation) is tuple
    if is_list:
        (annotation, *rest) = typing.get_args(annotation)
        if rest != [...]:
            raise TypeError(f"{where}: a list is declared as tuple[TYPE, ...]")
    if annotation not in SCALARS:
        raise TypeError(f"{where}: the type of an option is str, int, float, bool or Path, not {annotation!r}")
    return ValueType(scalar=annotation, is_list=is_list, optional=optional)
