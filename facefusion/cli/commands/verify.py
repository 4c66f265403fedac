"""Tells whether a file is as its signer left it, and whether that signer is trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from facefusion.cli.command import Context
from facefusion.core.errors import InputError, UsageError
from facefusion.core.wording import shown
from facefusion.provenance.settings import JSON, CheckSettings

if TYPE_CHECKING:
    from facefusion.provenance.manifests import Verdict


def execute(context: Context) -> int:
    """Write what a file's manifests are worth; 0 where all verify and, where anchors say whom to trust, are by such."""
    if len(context.words) != 1:
        raise UsageError("verify: one file has to be named", "For several there is: facefusion.py detect FILE ...")
    from facefusion.provenance.anchors import read_anchors  # noqa: PLC0415 - the library of certificates is slow
    from facefusion.provenance.findings import Answer, look_at  # noqa: PLC0415
    from facefusion.provenance.findings_report import document, text  # noqa: PLC0415

    settings = context.state.snapshot.get(CheckSettings)
    anchors = None if settings.trust_anchors is None else read_anchors(settings.trust_anchors)
    findings = look_at(Path(context.words[0]), anchors)
    if findings.unreadable:
        raise InputError(*findings.faults)
    is_for_people = settings.check_format != JSON
    context.write(text(findings) if is_for_people else document([findings]))
    verdicts = {store.verdict for store in findings.stores}
    if not verdicts:
        raise InputError(
            f"{findings.path} carries no manifest, and there is none beside it", "There is nothing to verify."
        )
    is_verified, why = _conclusion(verdicts, settings.trust_anchors)
    if is_for_people:
        context.write(f"{'verified' if is_verified else 'not verified'}: {why}\n")
    return 0 if is_verified else Answer.BROKEN.value


def _conclusion(verdicts: set[Verdict], anchors: Path | None) -> tuple[bool, str]:
    """What the verdicts come to, and why, in one line for people."""
    from facefusion.provenance.manifests import Verdict  # noqa: PLC0415 - the library behind it is slow

    if Verdict.BROKEN in verdicts:
        return False, "the file or its manifest is not as it was signed"
    if Verdict.ELSEWHERE in verdicts:
        return False, "a manifest lies elsewhere and was not fetched"
    if anchors is None:
        return True, "the file is as it was signed; --trust-anchors would tell whether to trust the signer"
    authorities = shown(str(anchors))
    if Verdict.UNKNOWN_SIGNER in verdicts:
        return False, f"the file is as it was signed, but no authority in {authorities} vouches for the signer"
    return True, f"the file is as it was signed, by a signer for whom {authorities} vouches"
