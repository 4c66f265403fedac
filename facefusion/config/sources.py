"""Merges the sources of values: default, ini file, environment, command line; a later one wins.

Only the value that wins is checked, so an option on the command line mends a wrong one in the ini file. What cannot be
understood at all (an unknown section or key) is an error wherever it stands.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from facefusion.config.ini import IniEntry, read_ini
from facefusion.config.legacy import RETIRED, is_retired_key, successor
from facefusion.config.origin import COMMAND_LINE, Origin, Source
from facefusion.config.schema import Schema, flag_of
from facefusion.config.state import Snapshot
from facefusion.config.values import RawValue, choice_text, doubts, join_words, parse, words_of
from facefusion.core.errors import OptionError, UsageError
from facefusion.core.wording import shown

DEFAULT_INI = Path("facefusion.ini")
"""In the working directory."""
ENVIRONMENT_PREFIX = "FACEFUSION_"
INTERPOLATION = re.compile(r"%\(\w+\)s")


@dataclass(frozen=True, slots=True)
class Merged:
    """The settings in force, and what the user should know about how they came to be."""

    snapshot: Snapshot
    warnings: tuple[str, ...] = field(default=())


def merge(
    schema: Schema,
    arguments: Mapping[str, tuple[str, ...]],
    environment: Mapping[str, str],
    command: str | None = None,
) -> Merged:
    """Merge all sources into a snapshot.

    Args:
        schema: the options of the program.
        arguments: words of each option given on the command line, by the option's name; options that FaceFusion had
            in earlier releases may be among them.
        environment: the process's environment.
        command: the command to run; what it does not take stays at its default. It takes all where none is given.

    Raises:
        OptionError: a value is not allowed, or an ini file names something unknown.
        UsageError: an ini file cannot be read.
    """
    from_environment, misspelt = _from_environment(schema, environment)
    from_arguments, retired = _from_arguments(schema, arguments)
    outer = {**from_environment, **from_arguments}
    path = _ini_path(schema, outer)
    from_ini, warnings = from_entries(schema, read_ini(path) if path is not None else ())
    raw = {**from_ini, **outer}
    taken = [spec for spec in schema if spec.name in raw and (command is None or command in spec.commands)]
    values = {spec.name: parse(spec, raw[spec.name]) for spec in taken}
    origins = {spec.name: raw[spec.name].origin for spec in taken}
    idle = [text for spec in taken for text in doubts(spec, values[spec.name], raw[spec.name])]
    return Merged(Snapshot(schema, values, origins), (*warnings, *retired, *misspelt, *idle))


def from_entries(schema: Schema, entries: Sequence[IniEntry]) -> tuple[dict[str, RawValue], tuple[str, ...]]:
    """The values that an ini file sets, by option, and warnings about keys that FaceFusion has no more.

    Raises:
        OptionError: a section or key is unknown, or one option is set under two names.
    """
    values: dict[str, RawValue] = {}
    retired: list[IniEntry] = []
    for entry in entries:
        spec = schema.at(entry.section, entry.key)
        if spec is not None and entry.value:
            label = _label(entry)
            if spec.name in values:
                raise OptionError(
                    f"{label}: sets what {values[spec.name].label} sets already (from {entry.place})",
                    "Keep one of the two.",
                )
            values[spec.name] = RawValue(words_of(spec, entry.value), label, Origin(Source.INI, entry.place))
        elif spec is None and not is_retired_key(entry.section, entry.key):
            raise _unknown(schema, entry)
        elif spec is None and entry.value:
            retired.append(entry)
    warnings = [text for entry in entries for text in _interpolations(entry)]
    for entry in retired:
        warnings += _succeed(schema, values, entry.key, entry.value, _label(entry), Origin(Source.INI, entry.place))
    return values, tuple(warnings)


def _interpolations(entry: IniEntry) -> Iterator[str]:
    """The warning about what FaceFusion put another key's value in for."""
    if found := INTERPOLATION.search(entry.value):
        yield f"{_label(entry)} is taken as it stands: {found[0]} is not replaced by the value of a key ({entry.place})"


def _label(entry: IniEntry) -> str:
    return f"[{entry.section}] {entry.key} = {' '.join(entry.value.split())}"


def _succeed(
    schema: Schema, values: dict[str, RawValue], name: str, value: str, label: str, origin: Origin
) -> tuple[str, ...]:
    """Set what took the place of a retired option, where nothing else sets it, and give the warning."""
    heir = successor(name, value)
    if heir.option is not None and schema.get(heir.option) is not None:
        values.setdefault(heir.option, RawValue(heir.words, label, origin))
    place = f" ({origin.place})" if origin.place else ""
    return (heir.warning(f"{label}{place}"),)


def _from_arguments(
    schema: Schema, arguments: Mapping[str, tuple[str, ...]]
) -> tuple[dict[str, RawValue], tuple[str, ...]]:
    values = {name: _argument(schema, name, words) for name, words in arguments.items() if name not in RETIRED}
    warnings: list[str] = []
    for name in arguments:
        if name in RETIRED:
            warnings += _succeed(schema, values, name, "true", flag_of(name), COMMAND_LINE)
    return values, tuple(warnings)


def _argument(schema: Schema, name: str, words: tuple[str, ...]) -> RawValue:
    spec = schema[name]
    label = spec.flag if spec.type.is_flag else f"{spec.flag} {join_words(words)}"
    return RawValue(words, label, COMMAND_LINE)


def _from_environment(schema: Schema, environment: Mapping[str, str]) -> tuple[dict[str, RawValue], tuple[str, ...]]:
    values: dict[str, RawValue] = {}
    misspelt: list[str] = []
    warnings: list[str] = []
    variables = {f"{ENVIRONMENT_PREFIX}{name.upper()}": name for name in schema.names}
    retired = {f"{ENVIRONMENT_PREFIX}{name.upper()}": name for name in RETIRED}
    for variable in sorted(environment):
        if not variable.startswith(ENVIRONMENT_PREFIX) or not environment[variable].strip():
            continue
        if variable in variables:
            spec = schema[variables[variable]]
            text = environment[variable]
            origin = Origin(Source.ENVIRONMENT, "the environment")
            values[spec.name] = RawValue(words_of(spec, text), f"{variable}={text}", origin)
        elif variable in retired:
            text, origin = environment[variable], Origin(Source.ENVIRONMENT)
            warnings += _succeed(schema, values, retired[variable], text, f"{variable}={text}", origin)
        elif near := get_close_matches(variable, variables, n=1, cutoff=0.85):
            misspelt.append(f"environment variable {variable} is no option; did you mean {near[0]}?")
    return values, (*warnings, *misspelt)


def _ini_path(schema: Schema, outer: Mapping[str, RawValue]) -> Path | None:
    """The ini file to read: the one asked for, which must be there, or the one in the working directory, if any."""
    spec = schema.get("config_path")
    if spec is None or "config_path" not in outer:
        return DEFAULT_INI if os.path.lexists(DEFAULT_INI) else None
    path, raw = Path(parse(spec, outer["config_path"])), outer["config_path"]
    try:
        problem = "it is a folder" if stat.S_ISDIR(path.stat().st_mode) else ""
    except FileNotFoundError:
        problem = "there is no such file"
    except OSError as error:
        problem = error.strerror or str(error)
    if problem:
        raise UsageError(
            f"{shown(raw.label)}: {problem} ({raw.origin})",
            "Give the path of an ini file, or leave the option out to use facefusion.ini in the working directory.",
        )
    return path


def _unknown(schema: Schema, entry: IniEntry) -> OptionError:
    places = schema.places()
    sections = tuple(dict.fromkeys(section for section, _ in places))
    if entry.section == "DEFAULT":
        return OptionError(
            f"{entry.place}: [DEFAULT] is no section", "Write each key in its own section; none is for all of them."
        )
    homes = [section for section, key in places if key == entry.key]
    belongs = f"{entry.key} belongs in section [{homes[0]}]." if homes else ""
    if entry.section not in sections:
        return OptionError(
            f"{entry.place}: there is no section [{shown(entry.section)}]",
            belongs or hint(entry.section, sections, "[{}]"),
        )
    if homes:
        return OptionError(f"{entry.place}: [{shown(entry.section)}] has no key {shown(entry.key)}", belongs)
    keys = [key for section, key in places if section == entry.section]
    return OptionError(
        f"{entry.place}: [{shown(entry.section)}] has no key {shown(entry.key)}", hint(entry.key, keys, "{}")
    )


def hint(word: str, known: Iterable[str], form: str) -> str:
    """What to say about a word that is not known: the nearest one that is, or all of them, each written in ``form``."""
    known = list(known)
    near = get_close_matches(word, known, n=1)
    if near:
        return f"Did you mean {form.format(near[0])}?"
    return f"Known are: {choice_text([form.format(name) for name in known])}."
