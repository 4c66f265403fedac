"""A key that signs by a command, so that it never leaves the device that it lies in."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import BinaryIO

from facefusion.core.errors import SetupError, SigningError
from facefusion.core.wording import shown
from facefusion.provenance.signing.algorithm import fits
from facefusion.provenance.signing.certificate import Certificate

PATIENCE = 60.0
"""Seconds for one signature; devices take below one, remote ones a few, and some wait for a person's hand."""

LONGEST = 1 << 16
"""Bytes that a command may write; a signature has some hundreds."""
POLL = 0.05
"""Seconds between two looks at how much it wrote."""

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
        # Files have no end that a process left behind by the command could keep open, and never wait for a reader.
        try:
            with (
                tempfile.TemporaryFile() as question,
                tempfile.TemporaryFile() as answer,
                tempfile.TemporaryFile() as complaint,
            ):
                question.write(data)
                question.seek(0)
                with subprocess.Popen(self.words, stdin=question, stdout=answer, stderr=complaint) as process:
                    try:
                        code = self._ended(process, (answer, complaint))
                    except BaseException:
                        process.kill()
                        raise
                signature, said = _written(answer), _written(complaint).decode("utf-8", "replace").strip().splitlines()
        except OSError as error:
            raise self._error(f"cannot be run: {error.strerror or error}") from error
        if code != 0:
            raise self._error(f"ended with {code}{f': {shown(said[-1])}' if said else ''}")
        if not fits(self.certificate.key, signature, data):
            raise self._error(
                f"gave {len(signature)} bytes that are no signature by the key of {self.certificate.path} "
                f"({self.certificate.algorithm.value})"
            )
        return signature

    def _ended(self, process: subprocess.Popen[bytes], outputs: tuple[BinaryIO, ...]) -> int:
        """Wait for the command's end, and give what it ends with."""
        until = time.monotonic() + self.patience
        while True:
            try:
                return process.wait(min(POLL, max(until - time.monotonic(), 0)))
            except subprocess.TimeoutExpired as error:
                if time.monotonic() >= until:
                    raise self._error(f"did not come to an end within {self.patience:.0f} s") from error
            if any(os.fstat(output.fileno()).st_size > LONGEST for output in outputs):
                raise self._error(f"wrote more than {LONGEST >> 10} KiB")

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


def _written(output: BinaryIO) -> bytes:
    output.seek(0)
    return output.read(LONGEST)


def _words(text: str) -> list[str]:
    """Words as the system's shell would tell them: backslashes part folders on Windows, and quotes stay with a word."""
    if os.name == "posix":
        return shlex.split(text)
    return [word.strip('"') for word in shlex.split(text, posix=False)]
