"""Whom a reader trusts: the certificates of authorities, in a file of the reader's own."""

from __future__ import annotations

import warnings
from pathlib import Path

from cryptography import x509
from cryptography.utils import CryptographyDeprecationWarning

from facefusion.core.errors import OptionError

LARGEST = 1 << 24
"""Bytes; lists of all authorities that browsers trust take 200,000."""


def read_anchors(path: Path) -> str:
    """The certificates in a file, as PEM.

    Raises:
        OptionError: the file cannot be read, or holds none.
    """
    remedy = "Name a file of certificates in PEM form, which begin with -----BEGIN CERTIFICATE-----."
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST)
        with warnings.catch_warnings():
            # Lists that systems keep hold old authorities whose serial number is not as it should be.
            warnings.simplefilter("ignore", CryptographyDeprecationWarning)
            x509.load_pem_x509_certificates(data)
        return data.decode("ascii", "replace")
    except OSError as error:
        raise OptionError(f"--trust-anchors {path} cannot be read: {error.strerror or error}", remedy) from error
    except ValueError as error:
        raise OptionError(f"--trust-anchors {path} holds no certificates", remedy) from error
