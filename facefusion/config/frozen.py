"""The settings of a step as a job file keeps them: put into JSON when the step is added, checked when it is run.

The keys are FaceFusion's. A path stands as it was typed, a list is a list, a value that is not set is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from facefusion.config.legacy import RETIRED, Age, successor
from facefusion.config.option import Scope
from facefusion.config.origin import Origin, Source
from facefusion.config.schema import OptionSpec, Schema
from facefusion.config.sources import hint
from facefusion.config.state import Snapshot
from facefusion.config.values import RawValue, doubts, parse, text_of
from facefusion.core.errors import OptionError


@dataclass(frozen=True, slots=True)
class Thawed:
    """The settings that a step of a job file holds."""

    values: dict[str, Any]
    """Checked, by the option's name; options that the file does not set are left out."""
    origin: Origin
    warnings: tuple[str, ...] = ()


def freeze(snapshot: Snapshot) -> dict[str, object]:
    """Every option of a step as a JSON value, by its name."""
    return {spec.name: _json_of(snapshot.value(spec)) for spec in snapshot.schema if spec.about.scope is Scope.STEP}


def thaw(schema: Schema, args: Mapping[str, object], place: str, *, foreign: bool = False) -> Thawed:
    """Check what a job file holds of a step.

    Args:
        schema: the options of the program.
        args: the step's values by their key.
        place: of the step, for messages.
        foreign: FaceFusion wrote it. It froze its defaults into the file, so such a value says that nothing was chosen;
            and it passed over what it did not know.

    Raises:
        OptionError: a key is unknown, or a value is not allowed.
    """
    origin = Origin(Source.JOB, place)
    age = Age.of(args) if foreign else None
    values: dict[str, Any] = {}
    warnings: list[str] = []
    for key, value in args.items():
        named = schema.get(key)
        if named is None and foreign and key not in RETIRED:
            warnings.append(f"{key} is no setting that is known here, and is passed over ({place})")
        elif named is None and key not in RETIRED:
            raise _unknown(schema, key, place)
        if named is None:
            continue
        if named.about.scope is not Scope.STEP:
            raise OptionError(f"{place}: {key} is no setting of a step", "It belongs to the command that runs the job.")
        if value is None or value == [] or (age is not None and age.is_default(named, value)):
            continue
        if age is not None:
            value = age.on_todays_scale(key, value)  # noqa: PLW2901 - the same value
        raw = RawValue(_words_of(named, value, place), f"{key} = {text_of(value)}", origin)
        values[named.name] = parse(named, raw)
        warnings += doubts(named, values[named.name], raw)
    for key in args.keys() & RETIRED.keys():
        heir = successor(key, text_of(args[key]))
        warnings.append(heir.warning(f"{key} ({place})"))
        if heir.option is not None and heir.option not in values:
            spec = schema[heir.option]
            values[spec.name] = parse(spec, RawValue(heir.words, f"{key} = {text_of(args[key])}", origin))
    return Thawed(values, origin, tuple(warnings))


def _words_of(spec: OptionSpec, value: object, place: str) -> tuple[str, ...]:
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, list | dict) for one in value)):
        raise OptionError(f"{place}: {spec.name} is neither a value nor a list of values", "Write one of the two.")
    if isinstance(value, list) and not spec.type.is_list:
        raise OptionError(f"{place}: {spec.name} takes one value, not a list", "Write that one.")
    return _words(value)


def _words(value: object) -> tuple[str, ...]:
    return tuple(text_of(one) for one in value) if isinstance(value, list) else (text_of(value),)


def _unknown(schema: Schema, key: str, place: str) -> OptionError:
    names = [spec.name for spec in schema if spec.about.scope is Scope.STEP]
    return OptionError(f"{place}: there is no setting {key}", hint(key, names, "{}"))


def _json_of(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [_json_of(one) for one in value]
    return value
