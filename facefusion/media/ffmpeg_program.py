"""The ``ffmpeg`` on the path, for encoders that the one within Python lacks."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import lru_cache

ENCODER_LINE = re.compile(r"^ V[.A-Z]{5} (?P<name>\S+) ", re.MULTILINE)
FORMATS_LINE = re.compile(r"^ *Supported pixel formats: (?P<names>.*)$", re.MULTILINE)

ON_THE_CARD: dict[str, tuple[str, ...]] = {"h264_vaapi": ("nv12",), "hevc_vaapi": ("nv12", "p010le")}
"""What is uploaded for encoders that themselves take frames in the card's memory alone."""

ANSWER_SECONDS = 20
"""A program that takes longer to list what it has, or to encode one small frame, is given up."""


def find_program() -> str | None:
    """Where ``ffmpeg`` is; none where it is not on the path."""
    return shutil.which("ffmpeg")


@lru_cache(maxsize=1)
def external_encoders() -> frozenset[str]:
    """Video encoders that it has."""
    return frozenset(ENCODER_LINE.findall(_answer("-encoders")))


@lru_cache(maxsize=16)
def external_formats(encoder: str) -> tuple[str, ...]:
    """Pixel formats that frames for one of its encoders can be sent in."""
    if encoder in ON_THE_CARD:
        return ON_THE_CARD[encoder]
    named = FORMATS_LINE.search(_answer("-h", f"encoder={encoder}"))
    return tuple(named["names"].split()) if named else ()


@lru_cache(maxsize=16)
def external_encoder_works(encoder: str) -> bool:
    """Whether it has the encoder, and the machine what that runs on."""
    if encoder not in external_encoders():
        return False
    form = external_formats(encoder)[0] if external_formats(encoder) else "yuv420p"
    source = ("-f", "lavfi", "-i", "color=black:size=256x256:rate=25", "-frames:v", "1")
    chain = upload_filters(encoder, form)
    arguments = [*device_arguments(encoder), *source, "-vf", ",".join(chain), "-c:v", encoder, "-f", "null", "-"]
    return _run(arguments).returncode == 0


def device_arguments(encoder: str) -> list[str]:
    """What has to be said before the input."""
    return ["-vaapi_device", "/dev/dri/renderD128"] if encoder in ON_THE_CARD else []


def upload_filters(encoder: str, pixel_format: str) -> list[str]:
    """What brings frames of a format to the encoder."""
    return [f"format={pixel_format}", *(["hwupload"] if encoder in ON_THE_CARD else [])]


def _answer(*arguments: str) -> str:
    if find_program() is None:
        return ""
    return _run(arguments).stdout.decode(errors="replace")


def _run(arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    command = [find_program() or "ffmpeg", "-hide_banner", "-nostdin", *arguments]
    try:
        return subprocess.run(command, capture_output=True, timeout=ANSWER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return subprocess.CompletedProcess(command, 1, b"", b"")
