"""What can go wrong between a client, the API, the queue and the storage."""

from __future__ import annotations

from facefusion.core.errors import FaceFusionError, InputError, ResourceError, SetupError, UsageError


class UnauthorisedError(FaceFusionError):
    """No token came with a request, or one that is not valid."""

    http_status = 401


class ForbiddenError(FaceFusionError):
    """The token does not allow what is asked for."""

    http_status = 403


class MalformedError(UsageError):
    """A request that two readers could take for different ones."""

    http_status = 400


class NotFoundError(InputError):
    """There is no such thing, or it is somebody else's, or it was erased."""

    http_status = 404


class ConflictError(UsageError):
    """What is asked for does not go with what is there."""

    http_status = 409


class TooLargeError(InputError):
    """An upload, or all that one subject keeps, is larger than it may be."""

    http_status = 413


class UnsupportedMediaError(InputError):
    """An upload is no image, video or sound that can be worked on."""

    http_status = 415


class StalledError(InputError):
    """An upload stopped coming."""

    http_status = 408
    retry_may_help = True


class BusyError(FaceFusionError):
    """For the moment no more is taken.

    Args:
        fault: see the base.
        remedy: see the base.
        seconds: after which asking again is worth it.
    """

    http_status = 429
    retry_may_help = True

    def __init__(self, fault: str, remedy: str = "", *, seconds: int = 30) -> None:
        super().__init__(fault, remedy)
        self.seconds = seconds


class QueueFullError(BusyError):
    """As many jobs wait as may."""


FAIR_SHARES = 10
"""The last of so many parts of the places in the queue is for owners who have not that many jobs waiting: nobody's pile
shuts all others out."""

MOST_KEPT = 30_000
"""Jobs of one owner that are known at a time, those among them that are final: each takes its place in memory."""


def too_many_kept(most: int) -> QueueFullError:
    """What to say where more would be known."""
    return QueueFullError(
        f"{most} jobs are kept for you already",
        "Erase those that are done with DELETE /v1/jobs/{id}, or wait until they expire.",
        seconds=600,
    )


class RateLimitError(BusyError):
    """A subject asks too often."""


class StorageFullError(ResourceError):
    """There is no room for uploads or results."""

    http_status = 507
    retry_may_help = True


class ServiceUnavailableError(SetupError):
    """What keeps jobs or files cannot be reached."""

    http_status = 503
    retry_may_help = True
