"""What a check found, against what users were promised."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum


class Verdict(StrEnum):
    """How a finding came out."""

    MET = "met"
    MISSED = "missed"
    TOLD = "told"
    """Nothing was promised."""
    LEFT_OUT = "left out"
    """It does not apply here; ``measured`` says why."""
    FAILED = "failed"
    """It could not be measured."""
    REHEARSED = "rehearsed"
    """Measured without a card: the number says nothing."""


BAD = frozenset((Verdict.MISSED, Verdict.FAILED))


@dataclass(frozen=True, slots=True)
class Finding:
    """One row of the report."""

    what: str
    promised: str
    measured: str
    verdict: Verdict


def judged(what: str, promised: str, measured: str, met: bool) -> Finding:
    """A finding that keeps a promise, or not."""
    return Finding(what, promised, measured, Verdict.MET if met else Verdict.MISSED)


def told(what: str, measured: str) -> Finding:
    """A finding about which nothing was promised."""
    return Finding(what, "", measured, Verdict.TOLD)


def left_out(what: str, reason: str) -> Finding:
    """What does not apply here."""
    return Finding(what, "", reason, Verdict.LEFT_OUT)


def failed(what: str, reason: str) -> Finding:
    """What could not be measured."""
    return Finding(what, "", reason, Verdict.FAILED)


def rehearsed(finding: Finding) -> Finding:
    """The same finding without its judgement, of a run without a card; what failed stays so."""
    judgements = (Verdict.MET, Verdict.MISSED, Verdict.TOLD)
    return replace(finding, verdict=Verdict.REHEARSED) if finding.verdict in judgements else finding


def to_json(findings: Iterable[Finding]) -> str:
    """Findings as one line of text."""
    return json.dumps([asdict(finding) for finding in findings])


def from_json(text: str) -> list[Finding]:
    """Findings of :func:`to_json`.

    Raises:
        ValueError: the text is something else.
    """
    try:
        return [Finding(**{**entry, "verdict": Verdict(entry["verdict"])}) for entry in json.loads(text)]
    except (KeyError, TypeError) as error:
        raise ValueError(f"no findings: {text[:200]}") from error


def table(findings: Sequence[Finding]) -> str:
    """Findings in columns, as Markdown."""
    rows = [("what", "promised", "measured", "verdict")]
    rows += [(one.what, one.promised, one.measured, one.verdict.value) for one in findings]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |" for row in rows]
    return "\n".join((lines[0], f"|{'|'.join('-' * (width + 2) for width in widths)}|", *lines[1:]))


def status(findings: Sequence[Finding]) -> int:
    """The exit status: 1 where a promise is not kept or something could not be measured, else 0."""
    return int(not findings or any(finding.verdict in BAD for finding in findings))
