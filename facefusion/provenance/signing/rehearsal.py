"""Tries a signer out in a process of its own: ``python -m facefusion.provenance.signing.rehearsal``.

The libraries that sign take 30 MB for as long as their process lives. Where a video is large these would come on top of
what decoder and encoder take, though nothing is signed before those are gone. So a signer is tried by a process that
ends, while models are loaded, and comes into this one when there is something to sign.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any, Self, cast, get_type_hints

from facefusion.core import errors
from facefusion.core.errors import FaceFusionError, SetupError, SigningError
from facefusion.core.home import PACKAGE_PARENT
from facefusion.core.interpreter import interpreter
from facefusion.core.stop import POLL_SECONDS, StopToken
from facefusion.observability.events import EventSink, Notice
from facefusion.observability.recorder import Recorder
from facefusion.provenance.records import Declaration
from facefusion.provenance.signing.settings import SigningSettings

REMEDY = "Run it again; where that does not help, do without a signature: --marking metadata."


@dataclass(frozen=True, slots=True)
class RehearsedSealer:
    """A :class:`~facefusion.provenance.records.Sealer` that was tried out elsewhere, and is opened to sign."""

    settings: SigningSettings
    signer: str
    events: EventSink

    def seal(self, file: Path, name: Path, declaration: Declaration, parent: Path | None) -> Path | None:
        """See :class:`~facefusion.provenance.records.Sealer`."""
        try:
            from facefusion.provenance.signing.sealer import build_sealer  # noqa: PLC0415 - see the module's docstring

            sealer = build_sealer(self.settings, self.events)
        except SigningError:
            raise
        except FaceFusionError as error:  # what held before the first frame holds no more
            raise SigningError(error.fault, error.remedy) from error
        return sealer.seal(file, name, declaration, parent)


class Rehearsal:
    """A signer that is being tried out. To be closed.

    Args:
        settings: say who signs.
    """

    def __init__(self, settings: SigningSettings) -> None:
        self._settings = settings
        paths = os.pathsep.join(filter(None, (str(PACKAGE_PARENT), os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            interpreter("-m", __name__),
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        # Not as an argument, which others could read; and now, so that it goes on while we do something else.
        question = cast("IO[bytes]", self._process.stdin)
        with contextlib.suppress(BrokenPipeError), question:
            question.write(json.dumps(_plain(settings)).encode())
        self._process.stdin = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it, wherever it is."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()

    def sealer(self, events: EventSink, stop: StopToken) -> RehearsedSealer:
        """Wait for its end.

        Args:
            events: told what was found on the way.
            stop: ends the wait.

        Raises:
            OptionError: the settings contradict each other.
            SetupError: nothing can be signed with what is set.
            Stopped: a stop was requested.
        """
        said, complaint = self._ended(stop)
        try:
            answer = json.loads(said)
        except ValueError as error:
            last = complaint.decode(errors="replace").strip().rpartition("\n")[2] or f"{self._process.returncode}"
            raise SetupError(f"whether results can be signed cannot be tried out: {last}", REMEDY) from error
        for message, warning in answer["notices"].items():
            events.emit(Notice(message, warning))
        if "signer" not in answer:
            raise _error(answer)
        return RehearsedSealer(self._settings, answer["signer"], events)

    def _ended(self, stop: StopToken) -> tuple[bytes, bytes]:
        while True:
            stop.check()
            try:
                return self._process.communicate(timeout=POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue


def is_at_hand() -> bool:
    """Whether this process holds the libraries that sign already, so that trying elsewhere saves nothing."""
    return "c2pa" in sys.modules


def _plain(settings: SigningSettings) -> dict[str, str | None]:
    """The settings, fit for JSON."""
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return {name: None if value is None else os.fspath(value) for name, value in values.items()}


def _settings(plain: Mapping[str, str | None]) -> SigningSettings:
    kinds = get_type_hints(SigningSettings)
    values: dict[str, Any] = {
        name: Path(value) if value is not None and kinds[name] == Path | None else value
        for name, value in plain.items()
    }
    return SigningSettings(**values)


def _error(answer: Mapping[str, Any]) -> FaceFusionError:
    kind = getattr(errors, answer["kind"])
    error: FaceFusionError = kind(answer["fault"], answer["remedy"])
    return error


def main() -> int:
    """Try the signer out, and say on the output stream who it is, or why it does not work."""
    from facefusion.provenance.signing.sealer import open_sealer  # noqa: PLC0415 - see the module's docstring

    heard = Recorder()
    try:
        answer: dict[str, object] = {"signer": open_sealer(_settings(json.load(sys.stdin)), heard).signer}
    except FaceFusionError as error:
        answer = {"kind": type(error).__name__, "fault": error.fault, "remedy": error.remedy}
    sys.stdout.write(json.dumps({**answer, "notices": heard.notices}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
