"""Tells the marks of files, whoever made them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from facefusion.cli.command import Context
from facefusion.core.errors import UsageError
from facefusion.provenance.settings import JSON, CheckSettings

if TYPE_CHECKING:
    from facefusion.provenance.findings import Findings


def execute(context: Context) -> int:
    """Write what marks each file carries; the gravest answer is the exit code."""
    if not context.words:
        raise UsageError("detect: no file is named", "Name one or more: facefusion.py detect FILE ...")
    from facefusion.provenance.anchors import read_anchors  # noqa: PLC0415 - the library of certificates is slow
    from facefusion.provenance.findings import gravest, look_at  # noqa: PLC0415
    from facefusion.provenance.findings_report import document, text  # noqa: PLC0415
    from facefusion.provenance.watermark_reading import watermark_reader  # noqa: PLC0415

    settings = context.state.snapshot.get(CheckSettings)
    anchors = None if settings.trust_anchors is None else read_anchors(settings.trust_anchors)
    watermark = watermark_reader()
    found: list[Findings] = []
    for word in context.words:
        context.stop.check()
        findings = look_at(Path(word), anchors, watermark)
        found.append(findings)
        if settings.check_format != JSON:
            context.write(text(findings))
    if settings.check_format == JSON:
        context.write(document(found))
    return gravest(one.answer for one in found).value
