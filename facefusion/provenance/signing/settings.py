"""Options that say who signs results."""

from __future__ import annotations

from pathlib import Path

from facefusion.config.option import EXECUTION_COMMANDS, Scope, option, settings_group
from facefusion.core.home import home_folder


@settings_group(section="trust", commands=(*EXECUTION_COMMANDS, "trust", "doctor"))
class SigningSettings:
    """Whose certificate and key sign; the local ones where none are named."""

    signing_certificate: Path | None = option(
        None,
        "PEM file of the certificate to sign results with, and behind it those of the authorities that vouch for it; "
        "a local one where empty, see trust",
        scope=Scope.JOB,
        metavar="FILE",
        own=True,
    )
    signing_key: Path | None = option(
        None,
        "PEM file of the certificate's private key, without a password",
        scope=Scope.JOB,
        metavar="FILE",
        own=True,
    )
    signing_command: str | None = option(
        None,
        "command that signs in place of a key file, for keys that never leave their device: bytes to sign on its "
        "standard input, signature on its standard output; see docs/trust.md",
        scope=Scope.JOB,
        metavar="COMMAND",
        own=True,
    )
    time_stamp_authority: str | None = option(
        None,
        "address of a time-stamp authority (RFC 3161) that is asked to confirm when a result was signed; nobody is "
        "asked where empty",
        scope=Scope.JOB,
        metavar="URL",
        own=True,
    )
    trust_path: Path | None = option(
        None,
        "folder of the local certificate and its key; .trust beside the program's own files where empty",
        scope=Scope.JOB,
        metavar="FOLDER",
        own=True,
    )

    @property
    def identities(self) -> Path:
        """Folder of the local certificate and its key."""
        return self.trust_path or home_folder() / ".trust"
