"""A key that signs by a command, so that it never leaves the device that it lies in."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass

from facefusion.core.errors import SetupError, SigningError
from facefusion.provenance.signing.algorithm import fits
from facefusion.provenance.signing.certificate import Certificate

PATIENCE = 60.0
"""Seconds for one signature; devices take below one, remote ones a few, and some wait for a person's hand."""

OPTION = "See --signing-command in docs/trust.md."


@dataclass(frozen=True, slots=True)
class SigningCommand:
    """Signs by running a program, without a shell."""

    words: tuple[str, ...]
    certificate: Certificate
    patience: float = PATIENCE

    def __call__(self, data: bytes) -> bytes:
        """Sign.

        Raises:
            SigningError: the command cannot be run, fails, takes too long, or gives no signature of the certificate's.
        """
        try:
            done = subprocess.run(self.words, input=data, capture_output=True, timeout=self.patience, check=False)
        except OSError as error:
            raise self._error(f"cannot be run: {error.strerror or error}") from error
        except subprocess.TimeoutExpired as error:
            raise self._error(f"did not come to an end within {self.patience:.0f} s") from error
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise self._error(f"ended with {done.returncode}{f': {said[-1]}' if said else ''}")
        if not fits(self.certificate.key, done.stdout, data):
            raise self._error(
                f"gave {len(done.stdout)} bytes that are no signature by the key of {self.certificate.path} "
                f"({self.certificate.algorithm.value})"
            )
        return done.stdout

    def _error(self, fault: str) -> SigningError:
        return SigningError(f"the signing command {self.words[0]} {fault}", OPTION)


def read_command(text: str, certificate: Certificate) -> SigningCommand:
    """Take a command apart, as a shell would.

    Raises:
        SetupError: it cannot be taken apart.
    """
    try:
        words = tuple(_words(text))
    except ValueError as error:
        raise SetupError(f"the signing command {text!r} cannot be taken apart: {error}", OPTION) from error
    if not words:
        raise SetupError("the signing command is empty", OPTION)
    return SigningCommand(words, certificate)


def _words(text: str) -> list[str]:
    """Words as the system's shell would tell them: backslashes part folders on Windows, and quotes stay with a word."""
    if os.name == "posix":
        return shlex.split(text)
    return [word.strip('"') for word in shlex.split(text, posix=False)]
