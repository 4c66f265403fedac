"""Ids of jobs, and the names of their files.

A job's id is the name of its file without ``.json``, and a part of the names of its steps' files; so that of a new job
holds nothing that a file's name may not hold on any system. Of any other id the SHA-1 takes its place there.

FaceFusion keeps an id of letters, digits and hyphens, however long, and takes the SHA-1 of any other in its place. Both
are found under the id that the user typed.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from itertools import count
from pathlib import PurePath

from facefusion.core.errors import UsageError

LONGEST = 100
"""Bytes, in UTF-8; leaves room in a name of 255 for that of the output."""

FORBIDDEN = frozenset('<>:"/\\|?*')
"""Characters that Windows, or any system, keeps out of names."""

RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{device}{number}" for device in ("com", "lpt") for number in range(1, 10))}
)
"""Names of Windows' devices, whatever stands behind a dot."""


UNSPEAKABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of Unicode that no line of text can show: control characters, halves of pairs, ends of lines."""


def check_id(job_id: str) -> str:
    """The id, where it may be one.

    Raises:
        UsageError: it may not; the message says why.
    """
    fault = _fault(job_id)
    if fault:
        raise UsageError(f"the job id {job_id!r} {fault}", "Use letters, digits, hyphens and the like.")
    return job_id


def new_stem(job_id: str) -> str:
    """The name, without ``.json``, to give the file of a new job.

    Raises:
        UsageError: no job can have that id.
    """
    return job_id if _names_a_file_everywhere(check_id(job_id)) else digest(job_id)


def file_stems(job_id: str) -> tuple[str, ...]:
    """Names, without ``.json``, that the file of a job may have: the id, and what FaceFusion or we made of it."""
    stems = (job_id,) if _names_a_file_here(job_id) else ()
    if job_id.replace("-", "").isalnum() and _names_a_file_everywhere(job_id):
        return stems
    return (*stems, digest(job_id))


def digest(job_id: str) -> str:
    """What stands for an id that names no file: its SHA-1, as in FaceFusion."""
    try:
        data = job_id.encode(errors="surrogateescape")
    except UnicodeEncodeError:  # halves of pairs, which no command line brings
        data = job_id.encode(errors="surrogatepass")
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


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
    if job_id in (".", ".."):
        return "is a part of a path"
    odd = sorted({one for one in job_id if one in "/\\" or unicodedata.category(one) in UNSPEAKABLE})
    return f"holds what no id may hold: {' '.join(map(repr, odd))}" if odd else ""


def _names_a_file_here(job_id: str) -> bool:
    """Whether a file of this system may have been named so, by whoever."""
    name = f"{job_id}.json"
    return name[0] != "." and "\0" not in name and PurePath(name).name == name


def _names_a_file_everywhere(job_id: str) -> bool:
    if job_id != job_id.strip() or job_id[0] == "." or job_id[-1] == ".":
        return False
    if any(one in FORBIDDEN or not one.isprintable() for one in job_id):
        return False
    return job_id.split(".", 1)[0].strip().lower() not in RESERVED and len(job_id.encode()) <= LONGEST
