"""A private key that lies in a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from facefusion.core.errors import SetupError
from facefusion.provenance.signing.algorithm import algorithm_of, sign
from facefusion.provenance.signing.certificate import Certificate, read_pem

ANOTHER = (
    "Name the one that belongs to the certificate with --signing-key, or a command that has it with --signing-command."
)


def read_key(path: Path, certificate: Certificate) -> Callable[[bytes], bytes]:
    """Read the key of a certificate.

    Returns:
        What signs with it.

    Raises:
        SetupError: it cannot be read, is locked by a password, or belongs to another certificate.
    """
    key = _load(path)
    if key.public_key() != certificate.key or algorithm_of(key.public_key()) is not certificate.algorithm:
        raise SetupError(f"the signing key {path} does not belong to the certificate {certificate.path}", ANOTHER)
    return lambda data: sign(key, data)


def _load(path: Path) -> PrivateKeyTypes:
    try:
        return load_pem_private_key(read_pem(path), password=None)
    except OSError as error:
        raise SetupError(f"the signing key {path} cannot be read: {error.strerror or error}", ANOTHER) from error
    except TypeError as error:  # what the library says of a password that it was not given
        raise SetupError(
            f"the signing key {path} is locked by a password",
            "Unlock it into a file that only you can read: umask 077; openssl pkey -in FILE -out UNLOCKED. Or let "
            "a command sign: --signing-command.",
        ) from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise SetupError(
            f"{path} is no private key in PEM form, the one that begins with -----BEGIN PRIVATE KEY-----",
            f"Convert it with: openssl pkey -in FILE. {ANOTHER}",
        ) from error


def readable_by_others(path: Path) -> bool:
    """Whether the system lets other users of the machine read a file, as far as its mode tells."""
    return os.name == "posix" and bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
