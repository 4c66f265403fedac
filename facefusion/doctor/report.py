"""The doctor's report: findings one a line, and advice as lines of an ini file; or all of it as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from facefusion.config.schema import OptionSpec, Schema
from facefusion.config.values import format_value
from facefusion.core.wording import counted, printable
from facefusion.doctor.finding import Finding, Level, is_faulty
from facefusion.doctor.settings import SCALE

if TYPE_CHECKING:
    from facefusion.doctor.advice import Advice

LEVEL_WIDTH = max(len(level.value) for level in Level)
TOPIC_WIDTH = 8

EXAMPLE_LINES = 2160


def line(finding: Finding) -> str:
    """A finding as one line, whatever the text of an error holds."""
    text = " ".join(finding.text.split()).rstrip(".")
    if finding.remedy:
        text = f"{text}. {' '.join(finding.remedy.split())}"
    return f"{finding.level.value.ljust(LEVEL_WIDTH)}  {finding.topic.ljust(TOPIC_WIDTH)}  {printable(text)}"


def conclusion(findings: Sequence[Finding]) -> str:
    """One line on all of them."""
    faults = sum(finding.level is Level.FAULT for finding in findings)
    warnings = sum(finding.level is Level.WARNING for finding in findings)
    counts = ", ".join(counted(number, noun) for number, noun in ((faults, "fault"), (warnings, "warning")) if number)
    ready = "A run with these settings cannot work" if faults else "Ready to run"
    return f"{ready}{f' ({counts})' if counts else ''}."


def ini_lines(advice: Advice, schema: Schema, target_lines: int | None = None) -> list[str]:
    """The advice as lines for the ini file, with the reason of each value above it.

    Args:
        advice: for this machine.
        schema: knows where options belong.
        target_lines: shorter side of the target, where one is named.
    """
    lines = [f"# {advice.note}", ""] if advice.note else []
    for section in schema.sections:
        settings = [one for one in advice.settings if schema[one.option].section == section]
        if settings:
            lines += [*([""] if lines and lines[-1] else []), f"[{section}]"]
        for one in settings:
            lines += [f"# {one.reason}", f"{one.option} = {format_value(schema[one.option], one.value)}".rstrip()]
    return [*lines, *_size_lines(advice, schema[SCALE], target_lines)]


def _size_lines(advice: Advice, spec: OptionSpec, target_lines: int | None) -> list[str]:
    scale = advice.scale(EXAMPLE_LINES if target_lines is None else target_lines)
    if scale is None:
        return []
    lines = [
        "",
        f"[{spec.section}]",
        f"# videos of more than {advice.height} lines should be made smaller: {advice.height_reason}",
    ]
    if target_lines is not None:
        return [*lines, f"{spec.name} = {scale:g}"]
    example = f"# for one of {EXAMPLE_LINES} lines; --auto-tune looks at each target:"
    return [*lines, example, f"# {spec.name} = {scale:g}"]


def headline(advice: Advice) -> str:
    """What the advice is for."""
    where = f"{advice.kind.value}, {advice.name}" if advice.name else advice.kind.value
    return f"Recommended here ({where}); --auto-tune sets it for a run, these lines in facefusion.ini for good:"


def document(findings: Sequence[Finding], advice: Advice | None, schema: Schema) -> str:
    """The whole report as JSON."""
    table = {
        "ready": not is_faulty(findings),
        "findings": [
            {"level": one.level.value, "topic": one.topic, "text": one.text, "remedy": one.remedy} for one in findings
        ],
        "advice": None if advice is None else _advice(advice, schema),
    }
    return json.dumps(table, indent=2, ensure_ascii=False) + "\n"


def _advice(advice: Advice, schema: Schema) -> dict[str, object]:
    return {
        "kind": advice.kind.name.lower(),
        "device": advice.name,
        "settings": [
            {"section": schema[one.option].section, "option": one.option, "value": one.value, "reason": one.reason}
            for one in advice.settings
        ],
        "note": advice.note,
        "largest_height": advice.height,
        "largest_height_reason": advice.height_reason,
    }
