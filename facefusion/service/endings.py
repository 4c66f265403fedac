"""What is kept of a job that came to its end, whoever worked on it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from facefusion.catalogue.checksums import sha256_of
from facefusion.core.errors import FaceFusionError, SigningError
from facefusion.service.content import MEDIA_TYPES
from facefusion.service.discretion import without_paths
from facefusion.service.records import Fault, JobRecord, Result
from facefusion.service.rendering import JobFiles


def result_of(job: JobRecord, files: JobFiles, expires: float) -> Result:
    """What is told of the file that a job made.

    Args:
        job: that made it.
        files: of the job; the output is there.
        expires: when it may be erased.
    """
    output = files.output
    return Result(sha256_of(output), output.stat().st_size, MEDIA_TYPES[job.extension], job.extension, expires)


def fault_of(error: BaseException, files: JobFiles | None, place: str, private: Iterable[Path] = ()) -> Fault:
    """What the client is told of why a job failed: the texts of the command line, without paths of this machine.

    Args:
        error: that ended it.
        files: of the job; none where they were not there yet.
        place: whose log has the traceback of a defect.
        private: folders of this machine, where there are no files yet that know them.
    """
    kind = type(error).__name__
    if isinstance(error, SigningError):  # where it is kept, and what to name on a command line, is no client's business
        error = SigningError(error.fault, "Whoever runs the service has to look after its signer.")
    if not isinstance(error, FaceFusionError):
        return Fault(f"unexpected {kind}", f"This is a defect; the log of the {place} has its traceback.", kind)
    if files is None:
        folders = tuple(private)
        return Fault(without_paths(error.fault, {}, folders), without_paths(error.remedy, {}, folders), kind)
    return Fault(files.without_paths(error.fault), files.without_paths(error.remedy), kind)
