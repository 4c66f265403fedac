"""Files of segments in a folder that several machines share.

::

    segment-000003-<token>.mkv     a segment, and
    segment-000003-<token>.json    its record: plan, size and SHA-256 of the file, manifest, and cost

Each attempt at a segment has a token of its own, so two machines that are at the same one never meet. Which of them
counts is for the one who hands out segments to say. The record appears once its file's content is on the disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from facefusion.catalogue.checksums import sha256_of
from facefusion.core.errors import OutputError, SegmentError
from facefusion.core.storage import flush, refusal, write_whole
from facefusion.pipeline.manifest import Manifest

FORMAT = 1
"""Of records."""

TOKEN = re.compile(r"[0-9A-Za-z]{1,64}")

FULL_DISK = "Make room on the storage that the machines share."
AGAIN = "Render the segment again."


def segment_path(folder: Path, number: int, token: str) -> Path:
    """Where the file of an attempt at a segment belongs.

    Raises:
        ValueError: the token is none.
    """
    if TOKEN.fullmatch(token) is None:
        raise ValueError(f"{token!r} is no token: 1 to 64 letters and digits")
    return folder / f"segment-{number:06d}-{token}.mkv"


def put_segment(
    folder: Path, number: int, token: str, plan: str, made: Manifest, cost: Mapping[str, object]
) -> Mapping[str, object]:
    """Bring a segment to the disk, look at it with fresh eyes, and note what it is.

    Args:
        folder: that the machines share.
        number: of the segment.
        token: of the attempt; its file lies at :func:`segment_path`.
        plan: digest of the plan.
        made: the segment.
        cost: what it took, for the report of the whole; fit for JSON.

    Returns:
        The record, fit for JSON, as it lies beside the file.

    Raises:
        OutputError: the disk does not hold it, or it reads back as something else.
        ResourceError: the disk is full.
    """
    path = segment_path(folder, number, token)
    file = None
    try:
        if made.segment is not None:
            flush(path)
            file = {"size": path.stat().st_size, "sha256": sha256_of(path)}
            if not made.segment.is_whole():
                raise OutputError(f"{path} does not read back as it was written", "Check the disk and try again.")
        record = {
            "format": FORMAT,
            "plan": plan,
            "number": number,
            "token": token,
            "file": file,
            "manifest": dict(made.to_json()),
            "cost": dict(cost),
        }
        write_whole(path.with_suffix(".json"), json.dumps(record).encode())
    except OSError as error:
        raise refusal(error, path, FULL_DISK) from error
    return record


def take_segment(folder: Path, number: int, plan: str, record: Mapping[str, object]) -> Manifest:
    """A segment that some machine has put into the folder.

    Args:
        folder: that the machines share.
        number: of the segment that is wanted.
        plan: digest of the plan that it has to be of.
        record: from :func:`put_segment`.

    Raises:
        SegmentError: it is another segment, of another plan, or its file is missing or damaged.
    """
    if record.get("format") != FORMAT or record.get("number") != number:
        raise SegmentError(f"what is given for segment {number} is no record of it", AGAIN, number=number)
    if record.get("plan") != plan:
        raise SegmentError(
            f"segment {number} was rendered for another plan, or by another program or kind of machine",
            AGAIN,
            number=number,
        )
    try:
        path = segment_path(folder, number, cast("str", record["token"]))
        manifest = Manifest.from_json(cast("Mapping[str, object]", record["manifest"]), path)
    except (KeyError, TypeError, ValueError) as error:
        raise SegmentError(f"the record of segment {number} is damaged: {error!r}", AGAIN, number=number) from error
    if manifest.segment is not None:
        _check(path, number, record.get("file"))
    return manifest


def _check(path: Path, number: int, about: object) -> None:
    try:
        size = path.stat().st_size
        is_sound = isinstance(about, dict) and size == about.get("size") and sha256_of(path) == about.get("sha256")
    except FileNotFoundError as error:
        raise SegmentError(f"the file of segment {number} is missing: {path}", AGAIN, number=number) from error
    except OSError as error:
        raise SegmentError(f"{path} cannot be read: {error.strerror}", AGAIN, number=number) from error
    if not is_sound:
        raise SegmentError(f"the file of segment {number} is damaged: {path}", AGAIN, number=number)
