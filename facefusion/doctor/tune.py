"""Applies advice to the settings of a run: what the user chose stays."""

from __future__ import annotations

from dataclasses import dataclass

from facefusion.config.origin import AUTO_TUNE
from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.config.values import format_value
from facefusion.doctor.advice import Advice, Setting, advise
from facefusion.doctor.look import look_around
from facefusion.doctor.request import target_lines
from facefusion.doctor.settings import SCALE
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.settings import ExecutionSettings
from facefusion.observability.events import EventSink, Notice

RESOLUTION = "output_video_resolution"
"""Says the size of results too; a run takes one of the two."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """Settings with advice applied."""

    snapshot: Snapshot
    sentence: str
    """What was set, in one line."""


def auto_tune(snapshot: Snapshot, events: EventSink, *, sizes_target: bool) -> Snapshot:
    """Look at this machine, and set what suits it wherever nothing else is asked for.

    Args:
        snapshot: the settings that are asked for.
        events: told what was set, and which devices are here and do not work.
        sizes_target: whether the result of the target may be made smaller; not where the settings name none that is
            worked on.
    """
    asked = snapshot.get(ExecutionSettings)
    names = asked.execution_providers
    look = look_around(snapshot, tuple(one for one in PROVIDERS.all if not names or one.name in names))
    for name, obstacle in look.obstacles.items():
        if obstacle is not None and (names or obstacle.unexpected):
            events.emit(Notice(f"execution provider {name} does not work here: {obstacle.reason}", warning=True))
    advice = advise(look.facts.within(names, asked.execution_device_ids))
    lines = target_lines(snapshot.get(PathsSettings)) if sizes_target else None
    tuned = apply_advice(snapshot, advice, lines)
    events.emit(Notice(tuned.sentence))
    return tuned.snapshot


def apply_advice(snapshot: Snapshot, advice: Advice, lines: int | None) -> Tuned:
    """Set what was advised, but for options that somebody chose a value for.

    Args:
        snapshot: the settings that are asked for.
        advice: for this machine.
        lines: shorter side of the target, where it is a video that is known.
    """
    settings = [*advice.settings]
    scale = None if lines is None else advice.scale(lines)
    if scale is not None and not snapshot.origin(RESOLUTION).given:
        settings.append(Setting(SCALE, scale, advice.height_reason))
    schema = snapshot.schema
    free = {one.option: one.value for one in settings if not snapshot.origin(one.option).given}
    tuned = snapshot.with_values(free, AUTO_TUNE)
    words = [f"{name} = {format_value(schema[name], tuned.value(schema[name]))}" for name in free]
    where = f"{advice.kind.value} ({advice.name})" if advice.name else advice.kind.value
    what = ", ".join(words) or "nothing, since all of it is asked for otherwise"
    return Tuned(tuned, f"--auto-tune found {where} and set: {what}.")
