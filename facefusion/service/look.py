"""Looks into an upload, in a process of its own: ``python -m facefusion.service.look FILE``.

Decoders meet what strangers send for the first time here. A file that crashes one, or has it work without end, takes
this process with it and nothing else: it holds no secrets, has a limit of time, and answers in one line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Any

from facefusion.core.errors import MediaError
from facefusion.core.formats import MediaKind, kind_of
from facefusion.core.home import PACKAGE_PARENT
from facefusion.core.interpreter import interpreter
from facefusion.service.content import HEAD, MEDIA_TYPES, extension_of
from facefusion.service.errors import UnsupportedMediaError

SECONDS = 30
"""Of the processor; a sound file takes less than one."""
WALL_SECONDS = 120
MOST_MEMORY = 6 << 30
"""Bytes of address space: the first frame of the largest video that there is, and libraries."""

MOST = 1 << 48
"""Beyond any size, number of frames and length in seconds."""
LONGEST_FAULT = 1000
"""Characters."""

PASSED = ("PATH", "SYSTEMROOT", "LANG", "TMPDIR", "TEMP")
"""Variables that the process gets; none holds a secret."""

SOUND_TOO = {".mp4": ".m4a", ".m4v": ".m4a", ".mov": ".m4a"}
"""Extensions of containers that hold sound alone as well, and what they are called then."""

REMEDY = "Send an image, a video or a sound file that opens in a player."


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds."""

    media_type: str
    extension: str
    """That files of the type have, with its dot."""
    width: int | None = None
    """Of the picture as it is shown, in pixels; none of sound."""
    height: int | None = None
    frames: int | None = None
    """As many as the file promises, 1 of a still image; none where it does not say."""
    duration: float | None = None
    """Of the picture, in seconds; none of a still image, and where the file does not say."""


def look(path: Path) -> Content:
    """Look into a file, in another process.

    Raises:
        UnsupportedMediaError: it is nothing that can be worked on.
    """
    environment = {name: os.environ[name] for name in PASSED if name in os.environ}
    try:
        done = subprocess.run(
            interpreter("-m", __name__, str(path.absolute())),
            env={**environment, "PYTHONPATH": str(PACKAGE_PARENT)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WALL_SECONDS,
            check=False,
        )
        return read_answer(json.loads(done.stdout.splitlines()[-1]))
    except (subprocess.TimeoutExpired, ValueError, TypeError, IndexError) as error:
        raise UnsupportedMediaError("the upload cannot be read: looking into it did not end well", REMEDY) from error


def read_answer(answer: Mapping[str, Any]) -> Content:
    """What the process found. It is not believed more than it could say: a file may have made it its own.

    Raises:
        UnsupportedMediaError: it found nothing that can be worked on.
        ValueError: this is no such answer.
        TypeError: likewise.
    """
    if "fault" in answer:
        raise UnsupportedMediaError(str(answer["fault"])[:LONGEST_FAULT], REMEDY)
    found = Content(**answer)
    counts = (found.width, found.height, found.frames)
    if not (
        found.extension in MEDIA_TYPES
        and found.media_type == MEDIA_TYPES[found.extension]
        and all(_is_within(count, int, 1) for count in counts)
        and _is_within(found.duration, float, 0)
    ):
        raise ValueError(f"no content: {found}")
    return found


def _is_within(value: object, kind: type[int] | type[float], least: int) -> bool:
    """Whether a value is none, or a number of that kind that something could have."""
    return value is None or (isinstance(value, kind) and type(value) is kind and least <= value < MOST)


def look_here(path: Path) -> Content:
    """Look into a file in this process, which is for files that can be trusted.

    Raises:
        UnsupportedMediaError: as in :func:`look`.
    """
    with path.open("rb") as file:
        extension = extension_of(file.read(HEAD))
    if extension is None:
        raise UnsupportedMediaError("the upload is of no format that is known here", REMEDY)
    try:
        return _probed(path, extension)
    except MediaError as error:
        raise UnsupportedMediaError(_without(str(path), error.fault), REMEDY) from error


def _probed(path: Path, extension: str) -> Content:
    """What a file really holds, which begins as files of ``extension`` do.

    Raises:
        MediaError: it cannot be read.
    """
    # FFmpeg, Pillow and the rest take longer to come in than most uploads to be told for what they are.
    from facefusion.media.probe import probe  # noqa: PLC0415
    from facefusion.media.sound_file import probe_sound  # noqa: PLC0415

    if kind_of(PurePath(f"_{extension}")) is MediaKind.AUDIO:
        probe_sound(path)
        return Content(MEDIA_TYPES[extension], extension)
    try:
        found = probe(path)
    except MediaError:
        if extension not in SOUND_TOO:
            raise
        probe_sound(path)
        return Content(MEDIA_TYPES[SOUND_TOO[extension]], SOUND_TOO[extension])
    if extension == ".png" and found.kind is MediaKind.VIDEO:
        extension = ".apng"
    size, duration = found.size, float(found.duration) or None
    return Content(MEDIA_TYPES[extension], extension, size.width, size.height, found.frame_count, duration)


def _without(path: str, fault: str) -> str:
    name = Path(path).name
    return fault.replace(path, "the upload").replace(name, "the upload")


def _limit() -> None:
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - Windows has none

    for kind, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, MOST_MEMORY), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):  # a tighter limit holds already
            resource.setrlimit(kind, (most, most))


def main(words: list[str]) -> int:
    """Look into the file that is named, and say on the output stream what it is."""
    _limit()
    try:
        answer = asdict(look_here(Path(words[0])))
    except UnsupportedMediaError as error:
        answer = {"fault": error.fault}
    sys.stdout.write(f"{json.dumps(answer)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
