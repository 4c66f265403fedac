"""Whose certificate and key sign, out of all that the settings can say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from facefusion.core.errors import OptionError, SetupError
from facefusion.observability.events import EventSink, Notice
from facefusion.provenance.signing.certificate import (
    Certificate,
    check_certificate,
    load_certificate,
    read_certificate,
)
from facefusion.provenance.signing.command import read_command
from facefusion.provenance.signing.identity import Identity, find_identity, make_identity, needs_renewal
from facefusion.provenance.signing.key import read_key, readable_by_others
from facefusion.provenance.signing.settings import SigningSettings

UNKNOWN = "an unknown signer"
"""What people are told who signed with a local certificate: nobody vouches for it."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A certificate, and what signs with its key."""

    certificate: Certificate
    sign: Callable[[bytes], bytes]
    """From the data to its signature; raises :class:`SigningError`."""
    anchor: Path | None = None
    """Of a local one: the certificate that others can trust it by."""

    @property
    def signer(self) -> str:
        """Who signs, as people are told."""
        return self.certificate.name if self.anchor is None else UNKNOWN


def open_credential(settings: SigningSettings, events: EventSink) -> Credential:
    """Take the certificate and key that the settings name; else the local ones, which are made where there are none.

    Raises:
        OptionError: the settings name only half of it, or too much.
        SetupError: certificate or key cannot be used.
    """
    if settings.signing_certificate is not None:
        return _named(settings, read_certificate(settings.signing_certificate), events)
    for option, value in (("--signing-key", settings.signing_key), ("--signing-command", settings.signing_command)):
        if value is not None:
            raise OptionError(
                f"{option} is given without the certificate that the key belongs to",
                f"Name it with --signing-certificate, or leave {option} away to sign with the local certificate.",
            )
    return _local(settings, events)


def local_identity(settings: SigningSettings) -> Identity | None:
    """The local certificate that signs, unless there is none or it is time for another.

    Raises:
        SetupError: it cannot be read.
    """
    newest = find_identity(settings.identities)
    return newest if newest is not None and not _is_old(newest) else None


def local_credential(settings: SigningSettings) -> Credential:
    """The local certificate, made now where there is none.

    Raises:
        SetupError: it cannot be made or read.
    """
    identity = find_identity(settings.identities)
    if identity is None or _is_old(identity):
        identity = make_identity(settings.identities, after=identity)
    with _local_files(identity):
        certificate = load_certificate(identity.certificate)
        sign = read_key(identity.key, certificate)
    check_certificate(certificate)
    return Credential(certificate, sign, identity.anchor)


def _is_old(identity: Identity) -> bool:
    with _local_files(identity):
        return needs_renewal(load_certificate(identity.certificate).ends)


@contextmanager
def _local_files(identity: Identity) -> Iterator[None]:
    """Say what can be done where files of a local certificate are missing or damaged."""
    try:
        yield
    except SetupError as error:
        remedy = (
            f"It is the local one: put the files of {identity.folder} back from a copy, or move that folder away; the "
            "next run makes another."
        )
        raise SetupError(error.fault, remedy) from error


def _named(settings: SigningSettings, certificate: Certificate, events: EventSink) -> Credential:
    command, key = settings.signing_command, settings.signing_key
    if command is not None and key is not None:
        raise OptionError("--signing-key and --signing-command are both given", "One of them signs: leave one away.")
    if command is not None:
        return Credential(certificate, read_command(command, certificate))
    if key is None:
        raise OptionError(
            f"--signing-certificate {certificate.path} is given without its key",
            "Name the key with --signing-key, or a command that signs with it with --signing-command.",
        )
    sign = read_key(key, certificate)
    _warn_of_readers(key, events)
    return Credential(certificate, sign)


def _warn_of_readers(key: Path, events: EventSink) -> None:
    if readable_by_others(key):
        events.emit(
            Notice(f"Other users of this machine can read the signing key {key}. Run: chmod 600 {key}", warning=True)
        )


def _local(settings: SigningSettings, events: EventSink) -> Credential:
    identity = local_identity(settings)
    credential = local_credential(settings)
    if identity is not None:
        _warn_of_readers(identity.key, events)
    else:
        events.emit(
            Notice(
                f"Made a local certificate to sign results with, in {credential.certificate.path.parent}: it says that "
                "they come from one installation, not from whom. See docs/trust.md."
            )
        )
    return credential
