"""The one tree of errors.

::

    FaceFusionError                 exit 1, HTTP 500
    ├── UsageError                  exit 2, HTTP 422   the request cannot be understood
    │   └── OptionError             exit 2, HTTP 422   one option, ini key or field has a bad value
    ├── SetupError                  exit 2, HTTP 503   something is missing on this machine
    │   ├── ModelError              exit 2, HTTP 503   a model cannot be had, verified or loaded
    │   ├── ProviderError           exit 2, HTTP 503   an execution provider cannot be had
    │   └── OtherMachineError       exit 2, HTTP 503   a plan was made by another program, or on another kind of machine
    ├── InferenceError              exit 1, HTTP 500   what a model gave for one picture is no answer
    ├── InputError                  exit 1, HTTP 422   a file given by the user cannot be used
    │   ├── MediaError              exit 1, HTTP 422   unreadable, damaged or not media
    │   │   └── PastEndError        exit 1, HTTP 422   a frame is asked for that the video does not have
    │   └── FaceNotFoundError       exit 1, HTTP 422   a picture that must hold a face holds none
    ├── OutputError                 exit 1, HTTP 500   the result cannot be written or is not whole
    │   ├── SegmentError            exit 1, HTTP 500   a rendered segment is missing, damaged or of another plan
    │   └── SigningError            exit 7, HTTP 500   a finished result cannot be signed
    ├── ResourceError               exit 1, HTTP 507   memory or disk do not suffice
    │   ├── DiskFullError           exit 1, HTTP 507   a disk does not hold what is to be written
    │   └── VideoMemoryError        exit 1, HTTP 507   the memory of a device does not suffice
    ├── JobError                    exit 1, HTTP 409   there is no such job, or its state does not allow what is asked
    │   └── JobBusyError            exit 1, HTTP 409   another process runs the job
    └── ContentRefusedError         exit 3, HTTP 451   the content filter refused the target

    Stopped (a BaseException)       exit 4, HTTP 499   the user asked to stop

Exit 1 says that this run failed, be it on its files or folders; 2 that no other file would mend it: the request or the
machine has to be put right.

``Stopped`` is no ``Exception``, so that no broad handler can swallow a stop request.

Every message says what was tried, on what, and what to do about it; :class:`FaceFusionError` therefore takes the
fault and the remedy apart and joins them, so neither can be forgotten.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from facefusion.core.report import ContentReport


class FaceFusionError(Exception):
    """Base of all errors a user may see.

    Args:
        fault: what went wrong, with the file, option or model it went wrong on. No trailing full stop needed.
        remedy: what the user can do about it. May be empty only where nothing can be done.
    """

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500
    retry_may_help: ClassVar[bool] = False

    def __init__(self, fault: str, remedy: str = "") -> None:
        self.fault = fault.rstrip(".")
        self.remedy = remedy
        super().__init__(f"{self.fault}. {remedy}" if remedy else f"{self.fault}.")


class UsageError(FaceFusionError):
    """The request itself cannot be understood or contradicts itself."""

    exit_code = 2
    http_status = 422


class OptionError(UsageError):
    """One option, ini key or request field has a value that is not allowed."""


class SetupError(FaceFusionError):
    """Something this program needs is missing on this machine."""

    exit_code = 2
    http_status = 503


class ModelError(SetupError):
    """A model is unknown, cannot be fetched, fails verification or cannot be loaded."""

    retry_may_help = True


class ProviderError(SetupError):
    """None of the execution providers asked for can be used."""


class OtherMachineError(SetupError):
    """A plan was made by another program, or on another kind of machine: what is made here would not fit the rest."""

    retry_may_help = True


class InferenceError(FaceFusionError):
    """A model that runs gave for one picture what cannot be used. It may do well on others: one frame ends no run."""


class InputError(FaceFusionError):
    """A file that the user gave cannot be used."""

    http_status = 422


class MediaError(InputError):
    """A file is unreadable, damaged or no media at all."""


class PastEndError(MediaError):
    """A video has fewer frames than the one that is asked for."""


class FaceNotFoundError(InputError):
    """A picture that must hold a face holds none."""


class OutputError(FaceFusionError):
    """The result cannot be written, or what was written failed its check."""


class SegmentError(OutputError):
    """A segment that was rendered is missing, damaged or of another plan; made again, it will do.

    Args:
        fault: see the base.
        remedy: see the base.
        number: of the segment.
    """

    retry_may_help = True

    def __init__(self, fault: str, remedy: str = "", *, number: int) -> None:
        super().__init__(fault, remedy)
        self.number = number


class SigningError(OutputError):
    """A finished result cannot be signed, or its signature does not verify. What signs may be back later, or elsewhere.

    Args:
        fault: see the base.
        remedy: see the base.
        kept: where the result lies, whole and unsigned, once it is kept.
    """

    exit_code = 7
    retry_may_help = True

    def __init__(self, fault: str, remedy: str = "", *, kept: Path | None = None) -> None:
        super().__init__(fault, remedy)
        self.kept = kept


class ResourceError(FaceFusionError):
    """Memory or disk space do not suffice."""

    http_status = 507
    retry_may_help = True


class DiskFullError(ResourceError):
    """A disk does not hold what is to be written."""


class VideoMemoryError(ResourceError):
    """The memory of a device does not suffice.

    Args:
        fault: see the base.
        remedy: see the base.
        needed: bytes that would do; 0 where that is not known.
        may_pass: whether the device has as many, and others hold what is missing at the moment.
    """

    def __init__(self, fault: str, remedy: str = "", *, needed: int = 0, may_pass: bool = False) -> None:
        super().__init__(fault, remedy)
        self.needed = needed
        self.may_pass = may_pass


class JobError(FaceFusionError):
    """There is no such job, its file cannot be read, or its state does not allow what is asked."""

    http_status = 409


class JobBusyError(JobError):
    """Another process runs the job."""

    retry_may_help = True


class ContentRefusedError(FaceFusionError):
    """The content filter refused the target.

    Args:
        fault: see the base.
        remedy: see the base.
        content: what it saw.
    """

    exit_code = 3
    http_status = 451

    def __init__(self, fault: str, remedy: str = "", content: ContentReport | None = None) -> None:
        super().__init__(fault, remedy)
        self.content = content


class Stopped(BaseException):
    """The user asked to stop (Ctrl-C, SIGTERM or a cancelled job)."""

    exit_code: ClassVar[int] = 4
    http_status: ClassVar[int] = 499
