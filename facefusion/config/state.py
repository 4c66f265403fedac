"""The settings in force: one immutable snapshot, and the manager that holds it.

Only the outer layers (cli, app) see these; everything deeper is handed the small settings group that it needs.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar, cast

from facefusion.config.origin import DEFAULT, PROGRAM, Origin
from facefusion.config.schema import OptionSpec, Schema
from facefusion.config.values import check
from facefusion.core.errors import OptionError

GroupT = TypeVar("GroupT")


class Snapshot:
    """All settings at one moment. Immutable; a change makes another one."""

    def __init__(self, schema: Schema, values: Mapping[str, Any], origins: Mapping[str, Origin]) -> None:
        """Build every group from checked values; options without one keep their default.

        Raises:
            OptionError: a value does not go with that of another option.
        """
        self._schema = schema
        self._values = MappingProxyType({spec.name: values.get(spec.name, spec.default) for spec in schema})
        self._origins = MappingProxyType({spec.name: origins.get(spec.name, DEFAULT) for spec in schema})
        for spec in schema:
            self._check_dependence(spec)
        self._groups = {group: group(**self._fields(group)) for group in schema.groups}

    @property
    def schema(self) -> Schema:
        """The options that it holds values of."""
        return self._schema

    def get(self, group: type[GroupT]) -> GroupT:
        """The settings group of that type.

        Raises:
            KeyError: the group is not among those of the program.
        """
        return cast("GroupT", self._groups[group])

    def value(self, spec: OptionSpec) -> Any:  # noqa: ANN401 - of the type that the option declares
        """The value of one option."""
        return self._values[spec.name]

    def origin(self, name: str) -> Origin:
        """Where the value of an option came from, by the option's name with ``_`` inside."""
        return self._origins[name]

    def with_values(self, values: Mapping[str, Any], origin: Origin = PROGRAM) -> Snapshot:
        """A snapshot that differs in the given values.

        Raises:
            OptionError: there is no such option, or a value is not allowed.
        """
        checked = dict(self._values)
        origins = dict(self._origins)
        for name, value in values.items():
            spec = self._schema.get(name)
            if spec is None:
                raise OptionError(f"there is no option named {name!r}")
            checked[spec.name] = check(spec, value, origin)
            origins[spec.name] = origin
        return Snapshot(self._schema, checked, origins)

    def _check_dependence(self, spec: OptionSpec) -> None:
        depends = spec.about.depends
        origin = self._origins[spec.name]
        if depends is None or not origin.given:
            return
        other = self._values[depends.option]
        allowed = depends.choices(other)
        if allowed is not None and self._values[spec.name] not in (*allowed, None):
            raise OptionError(
                f"{spec.name} = {self._values[spec.name]}: must be one of {', '.join(allowed)} with "
                f"{depends.option} {other} ({origin})"
            )

    def _fields(self, group: type) -> dict[str, Any]:
        return {spec.name: self._values[spec.name] for spec in self._schema if spec.group is group}


class StateManager:
    """Holds the snapshot in force. Thread-safe: a reader gets a whole snapshot, whatever happens meanwhile."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._lock = threading.Lock()
        self._snapshot = snapshot

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot in force."""
        return self._snapshot

    def change(self, values: Mapping[str, Any], origin: Origin = PROGRAM) -> Snapshot:
        """Put a snapshot with other values in force and return it; those handed out before stay as they are.

        Raises:
            OptionError: there is no such option, or a value is not allowed; nothing has changed then.
        """
        with self._lock:
            self._snapshot = self._snapshot.with_values(values, origin)
            return self._snapshot
