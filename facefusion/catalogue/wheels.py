"""Getting a pinned wheel through the user's own pip, with the index, proxy and certificates that pip is set up for."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from facefusion.catalogue.card import Part, Wheel
from facefusion.catalogue.checksums import sha256_of
from facefusion.catalogue.source import SourceError, Transfer
from facefusion.core.interpreter import interpreter
from facefusion.core.stop import StopToken
from facefusion.observability.events import EventSink

Pip: TypeAlias = Callable[[Sequence[str], Path, Callable[[], None]], tuple[int, str]]
"""Runs pip: its arguments, a folder for its temporary files, a function to call now and then meanwhile. Gives the exit
status and all output."""

# Tags of a wheel that every index has, whatever this machine is: nothing of the wheel is run, files are taken from it.
_TAGS = ("--implementation", "cp", "--python-version", "3.11", "--platform", "manylinux_2_28_x86_64")
_POLL_SECONDS = 0.2


def run_pip(arguments: Sequence[str], scratch: Path, meanwhile: Callable[[], None]) -> tuple[int, str]:
    """Run this Python's pip to its end; it is stopped when the caller is.

    Raises:
        SourceError: this Python has no pip.
    """
    if importlib.util.find_spec("pip") is None:
        raise SourceError(f"pip is not installed for {sys.executable} (`python -m ensurepip` installs it)")
    environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))}
    log = scratch / "pip.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            interpreter("-m", "pip", *arguments),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
        ) as process,
    ):
        try:
            while process.poll() is None:
                meanwhile()
                try:
                    process.wait(_POLL_SECONDS)
                except subprocess.TimeoutExpired:
                    continue
        except BaseException:
            process.kill()
            raise
    return process.returncode, log.read_text(encoding="utf-8", errors="replace")


def download_wheel(wheel: Wheel, scratch: Path, events: EventSink, stop: StopToken, pip: Pip = run_pip) -> Path:
    """Download a wheel below ``scratch`` and verify it.

    Raises:
        SourceError: pip cannot get it, or it is not the pinned one.
        OSError: the disk is full.
        Stopped: a stop was asked for.
    """
    folder = scratch / wheel.name
    working = folder / "pip"
    working.mkdir(parents=True, exist_ok=True)
    arguments = ["download", "--no-deps", "--no-input", "--only-binary", ":all:", *_TAGS]
    with Transfer(f"Fetching {wheel.requirement}", wheel.bytes, events, stop) as transfer:
        status, output = pip(
            [*arguments, "--dest", str(folder), wheel.requirement],
            working,
            lambda: transfer.at(_largest(folder)),
        )
        stop.check()  # the signal may have reached pip too, which then failed for no other reason
        found = sorted(folder.glob("*.whl"))
        if status != 0 or not found:
            raise _failure(output)
        transfer.at(wheel.bytes)
    if sha256_of(found[0]) != wheel.sha256:
        raise SourceError(f"{found[0].name} is not the pinned file (its SHA-256 differs)")
    return found[0]


def extract(part: Part, wheel: Path) -> bytes:
    """Take a part out of its wheel and verify it.

    Raises:
        SourceError: no wheel, no such member, or another one than the catalogue knows.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(part.member or "")
    except zipfile.BadZipFile as error:
        raise SourceError(f"{wheel.name} is damaged ({error})") from error
    except KeyError as error:
        raise SourceError(f"{wheel.name} has no member {part.member}") from error
    verify_part(data, part.sha256, f"{part.member} in {wheel.name}")
    return data


def verify_part(data: bytes, sha256: str, what: str) -> None:
    """Raise a :class:`SourceError` unless the SHA-256 of ``data`` is the given one."""
    if hashlib.sha256(data).hexdigest() != sha256:
        raise SourceError(f"{what} is not what it should be (its SHA-256 differs)")


def _largest(folder: Path) -> int:
    """Size of the largest file that pip has so far: the wheel, wherever it writes it first."""
    largest = 0
    # Pip moves files and removes folders between listing and looking: unlike a glob, a walk passes over those.
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                largest = max(largest, (Path(parent) / name).stat().st_size)
    return largest


def _failure(output: str) -> SourceError:
    if os.strerror(errno.ENOSPC) in output:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    reason = (errors or lines or ["pip said nothing"])[0 if errors else -1]
    if "Retrying (Retry(" in output:
        reason = f"the package index cannot be reached; {reason}"
    return SourceError(f"pip: {reason.rstrip('.')}")
