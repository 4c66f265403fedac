"""Puts signed manifests into results, or beside them."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from facefusion.core.errors import OptionError, SetupError, SigningError
from facefusion.core.storage import flush, is_of_the_disk, refusal
from facefusion.media.output import OTHER_OUTPUT
from facefusion.observability.events import EventSink, Notice
from facefusion.provenance.manifests import Verdict, read_store
from facefusion.provenance.records import Declaration
from facefusion.provenance.rules import SPILL_MEGABYTES
from facefusion.provenance.signing.building import Building, LibraryError, SignatureError
from facefusion.provenance.signing.credential import Credential, open_credential
from facefusion.provenance.signing.definition import definition
from facefusion.provenance.signing.formats import media_type_inside
from facefusion.provenance.signing.scratch import scratch_in
from facefusion.provenance.signing.settings import SigningSettings

REMEDY = "Name another signer with --signing-certificate, or do without a signature: --marking metadata."
AGAIN = "Run it again; where that does not help, do without a signature: --marking metadata."
WITHOUT_TIME = "See that the time-stamp authority can be reached, or leave --time-stamp-authority away."


@dataclass(frozen=True, slots=True)
class _Task:
    """One file to sign; see :meth:`C2paSealer.seal`."""

    file: Path
    made: Path
    """What is written in its place, or beside it."""
    media_type: str | None
    """None where its manifest lies beside it."""
    declaration: Declaration
    parent: Path | None
    keeps: bool = True
    """Whether the parent's own manifest is taken along."""


class _UnfitError(SigningError):
    """What was signed does not verify."""


@dataclass(frozen=True, slots=True)
class C2paSealer:
    """Signs with one certificate. It may be used for any number of files, and by several threads."""

    credential: Credential
    events: EventSink
    time_stamp_authority: str | None = None

    @property
    def signer(self) -> str:
        """Who signs, as people are told."""
        return self.credential.signer

    def seal(self, file: Path, name: Path, declaration: Declaration, parent: Path | None) -> Path | None:
        """Put a signed manifest into a finished file, and verify it; see :class:`Sealer`.

        Raises:
            SigningError: it cannot be signed, or what was signed does not verify.
            ResourceError: the disk is full.
        """
        media_type = media_type_inside(name)
        made = file.with_name(f"{file.name}.{'c2pa' if media_type is None else 'signed'}")
        task = _Task(file, made, media_type, declaration, parent)
        try:
            with self._about(name):
                self._seal(task)
        except BaseException:
            made.unlink(missing_ok=True)
            raise
        return made if media_type is None else None

    def rehearse(self) -> None:
        """Sign a few bytes, so that a key that cannot work is found before there is work to lose.

        Raises:
            SetupError: it does not work.
        """
        said = definition(
            Declaration(deeds=(), program="FaceFusion"),
            has_parent=False,
            whole=hashlib.sha256(b"rehearsal").digest(),
        )
        try:
            with (
                self._about(self.credential.certificate.path),
                Building(self.credential, self.time_stamp_authority, said) as building,
            ):
                building.beside()
        except SigningError as error:
            raise SetupError(f"results cannot be signed: {error.fault}", error.remedy) from error

    def _seal(self, task: _Task) -> None:
        seal = self._seal_beside if task.media_type is None else self._seal_inside
        try:
            seal(task)
        except (LibraryError, _UnfitError) as error:
            if task.parent is None or isinstance(error, SignatureError):
                raise
            # Manifests of anybody's can be damaged in ways that nobody sees before they are copied.
            seal(replace(task, keeps=False))

    def _seal_inside(self, task: _Task) -> None:
        file, made = task.file, task.made
        assert task.media_type is not None
        spills = file.stat().st_size > SPILL_MEGABYTES << 20
        with (
            self._begin(task) as building,
            file.open("rb") as source,
            made.open("w+b") as destination,
            scratch_in(file.absolute().parent) if spills else nullcontext(),
        ):
            building.inside(task.media_type, source, destination)
        _check(made, None, task.declaration)
        shutil.copymode(file, made)
        flush(made)
        made.replace(file)

    def _seal_beside(self, task: _Task) -> None:
        with task.file.open("rb") as source:
            whole = hashlib.file_digest(source, "sha256").digest()
        with self._begin(task, whole) as building:
            task.made.write_bytes(building.beside())
        _check(task.file, task.made, task.declaration)
        flush(task.made)

    @contextmanager
    def _begin(self, task: _Task, whole: bytes | None = None) -> Iterator[Building]:
        parent = task.parent
        said = definition(task.declaration, has_parent=parent is not None, whole=whole)
        with Building(self.credential, self.time_stamp_authority, said) as building:
            if parent is not None and not building.add_parent(parent, keeps=task.keeps):
                self.events.emit(
                    Notice(
                        f"The manifest of {parent} cannot be read: the result's names that file by its hash only.",
                        warning=True,
                    )
                )
            yield building

    @contextmanager
    def _about(self, path: Path) -> Iterator[None]:
        """Say on which file signing failed, and what can be done."""
        remedy = REMEDY if self.time_stamp_authority is None else f"{WITHOUT_TIME} {REMEDY}"
        try:
            yield
        except SigningError as error:
            raise SigningError(f"{path}: {error.fault}", error.remedy or remedy) from error
        except LibraryError as error:
            raise SigningError(f"{path}: {error}", remedy) from error
        except OSError as error:
            if is_of_the_disk(error):
                raise refusal(error, path, OTHER_OUTPUT) from error
            raise SigningError(refusal(error, path, remedy).fault, remedy) from error


def open_sealer(settings: SigningSettings, events: EventSink) -> C2paSealer:
    """Make ready to sign, and try it, so that nothing is found out after hours of work.

    Args:
        settings: who signs.
        events: hear of a local certificate that was made, of a key that others can read, and later of manifests that
            cannot be kept.

    Raises:
        OptionError: the settings contradict each other, or one has no meaning.
        SetupError: certificate, key or command cannot be used.
    """
    sealer = build_sealer(settings, events)
    sealer.rehearse()
    return sealer


def build_sealer(settings: SigningSettings, events: EventSink) -> C2paSealer:
    """Make ready to sign without a trial.

    Args:
        settings: who signs.
        events: as of :func:`open_sealer`.

    Raises:
        OptionError: the settings contradict each other, or one has no meaning.
        SetupError: certificate or key cannot be used.
    """
    address = settings.time_stamp_authority
    if address is not None and not address.startswith(("http://", "https://")):
        raise OptionError(
            f"the time-stamp authority {address} is no address",
            "It begins with http:// or https://, as --time-stamp-authority wants it.",
        )
    return C2paSealer(open_credential(settings, events), events, address)


def _check(file: Path, side_car: Path | None, declaration: Declaration) -> None:
    """Read back what was signed: whether it fits the file, and says how that came to be.

    Raises:
        SigningError: it does not.
    """
    store = read_store(file, side_car)
    if store is None or store.verdict not in (Verdict.TRUSTED, Verdict.UNKNOWN_SIGNER):
        faults = "; ".join(store.faults) if store is not None else "there is no manifest"
        raise _UnfitError(f"what was signed does not verify: {faults}", AGAIN)
    said = {action.source_type for action in store.manifests[0].actions}
    if declaration.source_type is not None and declaration.source_type.value not in said:
        raise _UnfitError("what was signed does not say how the file came to be", AGAIN)
