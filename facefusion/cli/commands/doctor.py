"""Looks whether this machine has what it takes, and recommends settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from facefusion.cli.command import Context
from facefusion.core.errors import SetupError
from facefusion.doctor.examination import Examination
from facefusion.doctor.examine import examine
from facefusion.doctor.finding import Finding, is_faulty
from facefusion.doctor.report import conclusion, document, headline, ini_lines, line
from facefusion.doctor.settings import JSON, DoctorSettings

if TYPE_CHECKING:
    from facefusion.doctor.advice import Advice


def execute(context: Context) -> int:
    """Write what was found, one finding a line as it comes, and the recommendations; 2 where a run cannot work."""
    snapshot = context.state.snapshot
    as_json = snapshot.get(DoctorSettings).doctor_format == JSON
    examination = Examination(snapshot)
    findings: list[Finding] = []
    for finding in examine(examination):
        context.stop.check()
        findings.append(finding)
        if not as_json:
            context.write(f"{line(finding)}\n")
    advice = _advice(examination)
    if as_json:
        context.write(document(findings, advice, snapshot.schema))
    else:
        context.write(f"\n{conclusion(findings)}\n")
        if advice is not None:
            lines = [headline(advice), "", *ini_lines(advice, snapshot.schema, examination.target_lines)]
            context.write("\n" + "\n".join(lines) + "\n")
    return SetupError.exit_code if is_faulty(findings) else 0


def _advice(examination: Examination) -> Advice | None:
    """None where a package that is needed to look at the machine is missing, which was said."""
    try:
        return examination.advice
    except ImportError:
        return None
