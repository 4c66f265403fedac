"""A signer's certificate, with those that vouch for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from facefusion.core.errors import SetupError
from facefusion.provenance.rules import PURPOSES
from facefusion.provenance.signing.algorithm import LEAST_RSA_BITS, Algorithm, algorithm_of

LARGEST = 1 << 20
"""Bytes of a file with a certificate or a key; a chain of ten takes twenty thousand."""

ANOTHER = "Name another with --signing-certificate, or sign with a local one: leave --signing-certificate away."


@dataclass(frozen=True, slots=True)
class Certificate:
    """Who signs, as a file says it."""

    path: Path
    chain: tuple[x509.Certificate, ...]
    """The signer's first, each one vouched for by the next."""
    algorithm: Algorithm

    @property
    def pem(self) -> str:
        """The chain as text."""
        return "".join(one.public_bytes(Encoding.PEM).decode("ascii") for one in self.chain)

    @property
    def own(self) -> x509.Certificate:
        """The signer's."""
        return self.chain[0]

    @property
    def key(self) -> PublicKeyTypes:
        """The public half of the signer's key."""
        return self.own.public_key()

    @property
    def ends(self) -> datetime:
        """When it runs out."""
        return self.own.not_valid_after_utc

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the signer's certificate, as others print it: pairs of hexadecimal digits."""
        return self.own.fingerprint(SHA256()).hex(":").upper()

    @property
    def name(self) -> str:
        """Whom the signer's certificate names: an organisation, a name in it, or both."""
        return _named(self.own)


Kind = TypeVar("Kind", bound=x509.ExtensionType)

_NAMES = (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME)


def read_certificate(path: Path) -> Certificate:
    """Read a chain and see that C2PA allows the first of it to sign today.

    Raises:
        SetupError: it cannot be read, is no certificate, or may not sign.
    """
    certificate = load_certificate(path)
    check_certificate(certificate)
    return certificate


def check_certificate(certificate: Certificate) -> None:
    """See that C2PA allows a certificate to sign today.

    Raises:
        SetupError: it may not sign.
    """
    _check_time(certificate.own, certificate.path)
    _check_purpose(certificate.own, certificate.path)
    _check_chain(certificate)


def load_certificate(path: Path) -> Certificate:
    """Read a chain, whether or not it may sign.

    Raises:
        SetupError: it cannot be read, is no certificate, or its key is of no kind that signs.
    """
    try:
        chain = tuple(x509.load_pem_x509_certificates(read_pem(path)))
    except OSError as error:
        raise SetupError(
            f"the signing certificate {path} cannot be read: {error.strerror or error}", ANOTHER
        ) from error
    except ValueError as error:
        raise SetupError(
            f"{path} is no certificate in PEM form, the one that begins with -----BEGIN CERTIFICATE-----",
            f"Convert it with: openssl x509 -inform DER -in FILE. {ANOTHER}",
        ) from error
    return Certificate(path, chain, _algorithm(chain[0], path))


def read_pem(path: Path) -> bytes:
    """The text of a certificate or a key, as far as one can go.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(LARGEST)


def _named(one: x509.Certificate) -> str:
    attributes = (one.subject.get_attributes_for_oid(kind) for kind in _NAMES)
    texts = [str(found[0].value) for found in attributes if found]
    return ", ".join(dict.fromkeys(texts)) or one.subject.rfc4514_string()


def _algorithm(own: x509.Certificate, path: Path) -> Algorithm:
    try:
        algorithm = algorithm_of(own.public_key())
    except (ValueError, UnsupportedAlgorithm):
        algorithm = None
    if algorithm is None:
        raise SetupError(
            f"the key of the signing certificate {path} is of a kind that C2PA does not sign with",
            f"It takes curves P-256, P-384 and P-521, Ed25519, and RSA of at least {LEAST_RSA_BITS} bits. {ANOTHER}",
        )
    return algorithm


def _check_time(own: x509.Certificate, path: Path) -> None:
    now = datetime.now(UTC)
    if now > own.not_valid_after_utc:
        raise SetupError(f"the signing certificate {path} ran out on {own.not_valid_after_utc:%d %B %Y}", ANOTHER)
    if now < own.not_valid_before_utc:
        raise SetupError(
            f"the signing certificate {path} is valid from {own.not_valid_before_utc:%d %B %Y %H:%M} UTC on only",
            f"See that the clock of this machine is right. {ANOTHER}",
        )


def _check_purpose(own: x509.Certificate, path: Path) -> None:
    """See that the certificate was given out for signatures on content (C2PA specification, section 14.5.1)."""
    usage = _extension(own, x509.KeyUsage)
    if usage is None or not usage.digital_signature:
        fault = "its key usage does not have digital signatures"
    elif (constraints := _extension(own, x509.BasicConstraints)) is not None and constraints.ca:
        fault = "it is an authority's own"
    elif not any(purpose.dotted_string in PURPOSES for purpose in _extension(own, x509.ExtendedKeyUsage) or ()):
        fault = f"its extended key usage has none of {', '.join(PURPOSES.values())}"
    elif _extension(own, x509.AuthorityKeyIdentifier) is None and own.issuer != own.subject:
        fault = "it does not say whose key vouches for it (authority key identifier)"
    else:
        return
    raise SetupError(f"the certificate {path} is not for signing content: {fault}", ANOTHER)


def _check_chain(certificate: Certificate) -> None:
    """See that each one is vouched for by the next, as readers take them; how far up they go is theirs to judge."""
    for one, issuer in pairwise(certificate.chain):
        try:
            one.verify_directly_issued_by(issuer)
        except (InvalidSignature, TypeError, ValueError) as error:
            raise SetupError(
                f"in {certificate.path} the certificate of {_named(one)} is not vouched for by the next, that of "
                f"{_named(issuer)}",
                f"Put your own first, then the one of the authority that issued it, and so on. {ANOTHER}",
            ) from error


def _extension(own: x509.Certificate, kind: type[Kind]) -> Kind | None:
    try:
        return own.extensions.get_extension_for_class(kind).value
    except (x509.ExtensionNotFound, ValueError):
        return None
