"""The local certificate and its key: made on this machine, vouched for by nobody else."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from facefusion.core.errors import FaceFusionError, SetupError
from facefusion.core.storage import flush, flush_folder, refusal

YEARS = 20
"""How long a certificate lasts. Without a time stamp what it signed verifies as long as that, and no longer."""
RENEWAL = timedelta(days=10 * 365)
"""With less than that to go another certificate is made, so that what is signed verifies for ten years at least."""
BEFORE = timedelta(days=1)
"""How long before it is made a certificate counts as valid, for readers whose clock is behind."""

OWNER, SIGNER, AUTHORITY = "FaceFusion", "Local signer of FaceFusion", "Local authority of FaceFusion"
"""Names that say nothing of the person or the machine."""

REMEDY = (
    "Name a folder that can be written to with --trust-path and make the certificate with 'facefusion.py trust init', "
    "name one of yours with --signing-certificate, or do without a signature: --marking metadata."
)

_NAME = re.compile(r"identity-([0-9]+)")
_MAKING = ".making-"


@dataclass(frozen=True, slots=True)
class Identity:
    """One local certificate: a folder that is there whole or not at all."""

    folder: Path

    @property
    def certificate(self) -> Path:
        """The signer's certificate and the authority's, as PEM."""
        return self.folder / "certificate.pem"

    @property
    def key(self) -> Path:
        """The signer's private key, as PEM. The authority's was thrown away: it vouches for no other certificate."""
        return self.folder / "key.pem"

    @property
    def anchor(self) -> Path:
        """The authority's certificate, as PEM, for whoever wants to trust what this machine signs."""
        return self.folder / "anchor.pem"


def find_identity(folder: Path) -> Identity | None:
    """The local certificate that signs, if there is one: the newest.

    Raises:
        SetupError: the folder cannot be read.
    """
    try:
        newest = max((_number(entry.name) for entry in folder.iterdir()), default=0) if folder.is_dir() else 0
    except OSError as error:
        raise SetupError(
            f"the folder of local certificates {folder} cannot be read: {error.strerror}", REMEDY
        ) from error
    return _identity(folder, newest) if newest else None


def make_identity(folder: Path, after: Identity | None = None) -> Identity:
    """Make a local certificate. What is there stays, for what it signed.

    Where several processes do it at the same time, all get the same one: the name follows from what was there before.

    Args:
        folder: of all local certificates.
        after: the newest one so far.

    Raises:
        FaceFusionError: the folder cannot be written to.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=_MAKING, dir=folder))  # for its owner only
    except OSError as error:
        raise _refused(error, folder) from error
    identity = _identity(folder, 1 if after is None else _number(after.folder.name) + 1)
    try:
        _write(Identity(made))
        _move(made, identity.folder)
        flush_folder(folder)
    except OSError as error:
        raise _refused(error, folder) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return identity


def needs_renewal(ends: datetime) -> bool:
    """Whether a certificate that runs out then is too old to sign with."""
    return ends - datetime.now(UTC) < RENEWAL


def _number(name: str) -> int:
    """The number of a certificate by the name of its folder; 0 where that is none's."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else 0


def _identity(folder: Path, number: int) -> Identity:
    return Identity(folder / f"identity-{number}")


def _move(made: Path, name: Path) -> None:
    """Give a folder its name, or leave both as they are where another process was faster."""
    try:
        made.rename(name)
    except OSError:  # no system moves a folder onto one that holds files
        if not name.is_dir():
            raise


def _write(identity: Identity) -> None:
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _authority(authority_key)
    certificate = _signer(key.public_key(), authority, authority_key)
    anchor = authority.public_bytes(Encoding.PEM)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for path, content, mode in (
        (identity.key, secret, 0o600),
        (identity.certificate, certificate.public_bytes(Encoding.PEM) + anchor, 0o644),
        (identity.anchor, anchor, 0o644),
    ):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
        flush(path)


def _authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = _name(AUTHORITY)
    return (
        _begun(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, SHA256())
    )


def _signer(
    key: ec.EllipticCurvePublicKey, authority: x509.Certificate, authority_key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    """A certificate of the profile that C2PA asks for (specification, section 14.5.1)."""
    return (
        _begun(_name(SIGNER), authority.subject, key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, SHA256())
    )


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC).replace(microsecond=0)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BEFORE)
        .not_valid_after(now + timedelta(days=365 * YEARS))
    )


def _name(common: str) -> x509.Name:
    return x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, OWNER), x509.NameAttribute(NameOID.COMMON_NAME, common)]
    )


def _usage(*, certificates: bool) -> x509.KeyUsage:
    """What a key is for: an authority's for certificates, any other for content."""
    return x509.KeyUsage(
        digital_signature=not certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=certificates,
        crl_sign=certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _refused(error: OSError, folder: Path) -> FaceFusionError:
    fault = refusal(error, folder, REMEDY).fault
    return SetupError(f"no local certificate can be made: {fault}", REMEDY)
