"""Who would sign results, tried as far as that needs nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from facefusion.core.errors import FaceFusionError
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Finding, Level, note, ok, warning
from facefusion.doctor.folders import nearest_folder, try_writing
from facefusion.observability.events import Event, Notice
from facefusion.provenance.records import Marking
from facefusion.provenance.settings import MarkingSettings
from facefusion.provenance.signing.credential import local_identity
from facefusion.provenance.signing.identity import REMEDY
from facefusion.provenance.signing.sealer import open_sealer
from facefusion.provenance.signing.settings import SigningSettings

TOPIC = "signer"


class _Warnings:
    """Keeps what is warned of on the way."""

    def __init__(self) -> None:
        self.found: list[Finding] = []

    def emit(self, event: Event) -> None:
        if isinstance(event, Notice) and event.warning:
            self.found.append(warning(TOPIC, event.message.rstrip(".")))


def findings(examination: Examination) -> Iterator[Finding]:
    """Have a few bytes signed, or see that a local certificate could be made. No time stamp is asked for."""
    snapshot = examination.snapshot
    if snapshot.get(MarkingSettings).mode is not Marking.FULL:
        yield note(TOPIC, "results are not signed, as --marking says")
        return
    settings = replace(snapshot.get(SigningSettings), time_stamp_authority=None)
    try:
        if settings.signing_certificate is None and local_identity(settings) is None:
            try_writing(nearest_folder(settings.identities), REMEDY)
            yield note(TOPIC, f"there is no local certificate in {settings.identities} yet; the first run makes one")
            return
        warnings = _Warnings()
        sealer = open_sealer(settings, warnings)
    except FaceFusionError as error:
        yield Finding.of_error(TOPIC, error, Level.FAULT)
        return
    yield from warnings.found
    certificate = sealer.credential.certificate
    yield ok(TOPIC, f"{sealer.signer} ({certificate.path}), until {certificate.ends:%Y-%m-%d}")
