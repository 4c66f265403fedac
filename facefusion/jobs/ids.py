"""Ids of jobs, and the names of their files.

A job's id is the name of its file without ``.json``, and a part of the names of its steps' files; so it holds nothing
that a file's name may not hold on any system.

FaceFusion keeps an id of letters, digits and hyphens, and takes the SHA-1 of any other in its place. Such a job is
found under the id that the user typed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from itertools import count

from facefusion.core.errors import UsageError

LONGEST = 100
"""Bytes, in UTF-8; leaves room in a name of 255 for that of the output."""

FORBIDDEN = frozenset('<>:"/\\|?*')
"""Characters that Windows, or any system, keeps out of names."""

RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{device}{number}" for device in ("com", "lpt") for number in range(1, 10))}
)
"""Names of Windows' devices, whatever stands behind a dot."""


def check_id(job_id: str) -> str:
    """The id, where it may be one.

    Raises:
        UsageError: it may not; the message says why.
    """
    fault = _fault(job_id)
    if fault:
        raise UsageError(f"the job id {job_id!r} {fault}", "Use letters, digits, hyphens and the like.")
    return job_id


def file_stems(job_id: str) -> tuple[str, ...]:
    """Names, without ``.json``, that the file of a job may have: ours, where the id is one, and FaceFusion's."""
    ours = () if _fault(job_id) else (job_id,)
    if job_id.replace("-", "").isalnum():
        return ours
    digest = hashlib.sha1(job_id.encode(errors="surrogateescape"), usedforsecurity=False)
    return (*ours, digest.hexdigest())


def timed_ids(prefix: str, moment: datetime) -> Iterator[str]:
    """Ids for a job that a command makes by itself: ``prefix-YYYY-MM-DD-HH-MM-SS``, then the same with ``-2``, ..."""
    first = f"{prefix}-{moment:%Y-%m-%d-%H-%M-%S}"
    yield first
    for number in count(2):
        yield f"{first}-{number}"


def _fault(job_id: str) -> str:
    """Why it cannot be an id; empty where it can."""
    if not job_id.strip():
        return "is empty"
    if job_id != job_id.strip() or job_id[0] == "." or job_id[-1] == ".":
        return "begins or ends with a space or a dot"
    odd = sorted({character for character in job_id if character in FORBIDDEN or not character.isprintable()})
    if odd:
        return f"holds what a file's name cannot hold everywhere: {' '.join(map(repr, odd))}"
    if job_id.split(".", 1)[0].strip().lower() in RESERVED:
        return "is the name of a device on Windows"
    if len(job_id.encode()) > LONGEST:
        return f"is longer than {LONGEST} bytes"
    return ""
