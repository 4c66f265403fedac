"""Certificates of every kind, good and bad, made on the spot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, NameOID

EMAIL = ExtendedKeyUsageOID.EMAIL_PROTECTION
CLAIMS = x509.ObjectIdentifier("1.3.6.1.4.1.62558.2.1")


class Root:
    """An authority that exists for one test."""

    def __init__(self, name="Root of tests"):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = named(name)
        self.certificate = (
            begun(self.name, self.name, self.key.public_key(), -2, 3650)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage(signs=False), critical=True)
            .sign(self.key, SHA256())
        )

    @property
    def pem(self):
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def issue(
        self,
        key,
        *,
        purpose=EMAIL,
        critical=False,
        signs=True,
        begins=-1,
        ends=365,
        ca=False,
        pointed=True,
        ocsp=None,
        name="Signer of tests",
    ):
        builder = begun(named(name), self.name, key.public_key(), begins, ends)
        builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        builder = builder.add_extension(usage(signs=signs), critical=True)
        if purpose is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=critical)
        if pointed:
            authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
            builder = builder.add_extension(authority, critical=False)
        if ocsp is not None:
            place = x509.UniformResourceIdentifier(ocsp)
            access = [x509.AccessDescription(AuthorityInformationAccessOID.OCSP, place)]
            builder = builder.add_extension(x509.AuthorityInformationAccess(access), critical=False)
        return builder.sign(self.key, SHA256())


def named(name):
    return x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Example"), x509.NameAttribute(NameOID.COMMON_NAME, name)]
    )


def begun(subject, issuer, key, begins, ends):
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=begins))
        .not_valid_after(now + timedelta(days=ends))
    )


def usage(*, signs):
    others = dict.fromkeys(
        (
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "encipher_only",
            "decipher_only",
        ),
        False,
    )
    return x509.KeyUsage(digital_signature=signs, key_cert_sign=not signs, crl_sign=not signs, **others)


def write_pair(folder: Path, root: Root | None = None, key=None, **about):
    """Files of a certificate with its root, and of its key."""
    root = root or Root()
    key = key or ec.generate_private_key(ec.SECP256R1())
    certificate, secret = folder / "signer.pem", folder / "signer.key"
    certificate.write_bytes(root.issue(key, **about).public_bytes(Encoding.PEM) + root.pem.encode())
    write_key(secret, key)
    return certificate, secret


def write_key(path: Path, key, password: bytes | None = None):
    form = NoEncryption() if password is None else BestAvailableEncryption(password)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, form))
    path.chmod(0o600)
