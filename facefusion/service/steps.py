"""What a client may ask a job to do, and how a worker takes it: the settings of a step, by the options' declarations.

A path means nothing in them: files are ids of assets beside the settings. What an operator answers for, the content
filter and the marks of results, stays theirs unless they offer it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from facefusion.config.frozen import freeze, thaw
from facefusion.config.option import Scope
from facefusion.config.origin import Origin, Source
from facefusion.config.render import help_text
from facefusion.config.schema import OptionSpec
from facefusion.config.state import Snapshot
from facefusion.content.settings import ContentAnalyserSettings
from facefusion.core.errors import OptionError
from facefusion.provenance.label_settings import LabelSettings
from facefusion.provenance.records import Marking
from facefusion.provenance.settings import MarkingSettings
from facefusion.provenance.signing.formats import media_type_inside
from facefusion.provenance.watermark_settings import WatermarkSettings
from facefusion.service.problems import FieldFault, FieldsError

OPERATORS: tuple[type, ...] = (ContentAnalyserSettings, MarkingSettings, LabelSettings, WatermarkSettings)
"""Groups of settings that clients choose only where the operator offers them."""

MACHINES = frozenset({"face_map", "keep_temp", "temp_frame_format", "temp_pixel_format", "workflow_strategy"})
"""Settings of a step that name files of a machine, or say what is left on its disk. No client chooses them."""

MOST_VALUES = 64
"""Of one setting: each processor that is named costs a run over every frame."""

PLACE = "the request"
ORIGIN = Origin(Source.JOB, PLACE)

JsonSchema: TypeAlias = dict[str, Any]


class StepRules:
    """What clients may choose.

    Args:
        base: settings of the operator's, which hold where the client chooses nothing.
        offered: settings of the operator's that clients may choose all the same.

    Raises:
        OptionError: what is offered is no setting that clients could be given.
    """

    def __init__(self, base: Snapshot, offered: Iterable[str] = ()) -> None:
        self._schema = base.schema
        held = {spec.name for spec in self._schema if spec.group in OPERATORS}
        offered = frozenset(offered)
        if unknown := offered - held:
            raise OptionError(
                f"--client-options {min(unknown)}: this is no setting of the operator's",
                f"It may name: {', '.join(sorted(held))}.",
            )
        self._held = held - offered
        steps = [spec for spec in self._schema if spec.about.scope is Scope.STEP and not _is_of_a_machine(spec)]
        self.choosable: tuple[OptionSpec, ...] = tuple(spec for spec in steps if spec.name not in self._held)
        """Settings that clients choose."""
        self._kept = frozenset(spec.name for spec in steps)
        self._base = _without_machine(base)

    def frozen(self, fields: Mapping[str, object]) -> dict[str, object]:
        """The step that a request asks for, as a job keeps it: whole, so that it means the same on every machine.

        Args:
            fields: values of JSON by the settings' names.

        Raises:
            FieldsError: some are not allowed; every one is named.
        """
        values: dict[str, object] = {}
        faults: list[FieldFault] = []
        for name, value in fields.items():
            try:
                values |= self._checked(name, value)
            except OptionError as error:
                faults.append(FieldFault(f"step.{name}", str(error)))
        if faults:
            raise FieldsError(faults)
        try:
            snapshot = self._base.with_values(values, ORIGIN)
        except OptionError as error:
            raise FieldsError([FieldFault("step", str(error))]) from error
        return {name: value for name, value in freeze(snapshot).items() if name in self._kept and value is not None}

    def snapshot(self, step: Mapping[str, object], target: Path, sources: Iterable[Path], output: Path) -> Snapshot:
        """The settings with which this machine would do a step; see :func:`step_snapshot`."""
        return step_snapshot(self._base, step, target, sources, output)

    def choices(self, name: str) -> list[str]:
        """The values that one setting may have."""
        spec = self._schema[name]
        awaited = set(spec.awaited())
        return [] if spec.choices is None else [choice for choice in spec.choices() if choice not in awaited]

    def json_schema(self) -> JsonSchema:
        """What may be chosen, as JSON Schema (draft 2020-12)."""
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {spec.name: _json_schema(spec) for spec in self.choosable},
        }

    def _checked(self, name: str, value: object) -> dict[str, object]:
        spec = self._schema.get(name)
        if spec is not None and _is_of_a_machine(spec) and spec.about.scope is Scope.STEP:
            raise OptionError(
                f"{PLACE}: {spec.name} names what lies on a machine of the service",
                "Files are uploaded, and named by their ids in 'target' and 'sources'.",
            )
        if isinstance(value, list) and len(value) > MOST_VALUES:
            raise OptionError(f"{PLACE}: {name} has {len(value)} values", f"Give {MOST_VALUES} at the most.")
        values = thaw(self._schema, {name: value}, PLACE).values
        for one in values:
            if one in self._held:
                raise OptionError(f"{PLACE}: {one} is the operator's to choose", "Leave it out.")
            if one not in self._kept:
                raise OptionError(f"{PLACE}: {one} is no setting that a client chooses", "Leave it out.")
        return values


def step_snapshot(
    base: Snapshot, step: Mapping[str, object], target: Path, sources: Iterable[Path], output: Path
) -> Snapshot:
    """The settings with which a worker does a job's step.

    Formats that cannot hold a manifest say what they can: a client gets one file, and nothing that lies beside it.

    Args:
        base: how this machine does it.
        step: what is asked for, see :meth:`StepRules.frozen`.
        target: the target's file.
        sources: those of the sources.
        output: file to write.

    Raises:
        OptionError: the step holds what this version does not know, or does not allow.
    """
    schema = base.schema
    own = [spec.name for spec in schema if spec.about.scope is not Scope.STEP]
    machine = Snapshot(
        schema, {name: base.value(schema[name]) for name in own}, {name: base.origin(name) for name in own}
    )
    thawed = thaw(schema, step, "the job")
    # All of a step is kept; what is as it is by default was not chosen.
    chosen = {name: value for name, value in thawed.values.items() if value != schema[name].default}
    paths = {"target_path": target, "source_paths": tuple(sources), "output_path": output}
    asked = machine.with_values(chosen, thawed.origin).with_values(paths, thawed.origin)
    if is_left_unsigned(asked, output):
        return asked.with_values({"marking": Marking.METADATA.value}, thawed.origin)
    return asked


def is_left_unsigned(snapshot: Snapshot, output: Path) -> bool:
    """Whether a result has metadata alone, where a run with these settings would lay a signed manifest beside it."""
    return media_type_inside(output) is None and snapshot.get(MarkingSettings).mode is Marking.FULL


def _is_of_a_machine(spec: OptionSpec) -> bool:
    return spec.type.scalar is Path or spec.name in MACHINES


def _without_machine(base: Snapshot) -> Snapshot:
    """The settings with those of a machine as they are by default: an ini file may name a target, for people."""
    schema = base.schema
    own = [spec.name for spec in schema if spec.about.scope is Scope.STEP and _is_of_a_machine(spec)]
    kept = [spec.name for spec in schema if spec.name not in own]
    return Snapshot(
        schema, {name: base.value(schema[name]) for name in kept}, {name: base.origin(name) for name in kept}
    )


def _json_schema(spec: OptionSpec) -> JsonSchema:
    value = spec.type
    one: JsonSchema = {"type": {int: "integer", float: "number", bool: "boolean"}.get(value.scalar, "string")}
    if spec.choices is not None:
        awaited = set(spec.awaited())
        choices = [choice for choice in spec.choices() if choice not in awaited]
        one["enum"] = [value.scalar(choice) for choice in choices]
    about = spec.about
    bounds = {"minimum": about.minimum, "maximum": about.maximum}
    one |= {name: bound for name, bound in bounds.items() if bound is not None}
    if about.form is not None:
        one["pattern"] = f"^(?:{about.form.pattern})$"
    schema: JsonSchema = one
    if value.is_list:
        schema = {"type": "array", "items": one, "maxItems": MOST_VALUES}
        if about.lengths is not None:
            schema |= {"minItems": about.lengths[0], "maxItems": about.lengths[1]}
    default = list(spec.default) if value.is_list else spec.default
    extra = {} if default is None else {"default": default}
    return {**schema, "description": help_text(spec), **extra}
