"""What comes of a unit that was not done: it is tried again, handed to others, or its job has failed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from facefusion.core.errors import (
    ContentRefusedError,
    DiskFullError,
    FaceFusionError,
    ResourceError,
    SegmentError,
    VideoMemoryError,
)
from facefusion.service.endings import fault_of
from facefusion.service.leases import JOIN, PAUSE_SECONDS, ROOM_SECONDS, Lease, Leases
from facefusion.service.records import JobRecord, JobState
from facefusion.service.rendering import JobFiles, Renderer

logger = logging.getLogger(__name__)

MOST_TRIES = 3
"""How often a unit is begun whose failure may pass."""
DISK_SECONDS = 60.0
"""Before a join is tried again that found no room on the disk; then twice as long."""

Insist = Callable[[Callable[[], bool]], bool]
"""Asks Redis until it answers."""


class Missed(Protocol):
    """Is told what a unit found missing. :class:`~facefusion.service.room.Room` is it."""

    def miss(self, fault: str) -> None:
        """Note it."""


class Failures:
    """Says what is to come of units that failed, and commits it.

    Args:
        leases: of the fleet.
        renderer: made the pictures.
        room: of this worker.
        insist: asks Redis.
        private: folders of this machine that no client is told of.
    """

    def __init__(
        self, leases: Leases, renderer: Renderer, room: Missed, insist: Insist, private: tuple[Path, ...] = ()
    ) -> None:
        self._leases = leases
        self._renderer = renderer
        self._room = room
        self._insist = insist
        self._private = private

    def commit(self, lease: Lease, job: JobRecord, error: Exception, files: JobFiles | None) -> bool:
        """Commit that a unit was not done; whether that counts.

        Args:
            lease: of the unit.
            job: of which it is.
            error: that ended it.
            files: of the job; none where they were not there yet.
        """
        unit = lease.unit
        if isinstance(error, SegmentError) and lease.tries + 1 < MOST_TRIES:
            logger.warning("segment %d of job %s has to be made again: %s", error.number, unit.job, error)
            return self._leases.redo(lease, error.number)
        if isinstance(error, VideoMemoryError):
            return self._without_video_memory(lease, job, error, files)
        pause = self._pause(lease, error)
        if pause is not None and lease.tries + 1 < MOST_TRIES:
            logger.warning("%s of job %s is to be tried again: %s", unit.name, unit.job, error)
            return self._leases.hand_back(lease, pause=pause, failed=True)
        return self._fail(lease, error, files)

    @staticmethod
    def _pause(lease: Lease, error: Exception) -> float | None:
        """Seconds after which another try may do better; none where it will not."""
        if isinstance(error, DiskFullError) and lease.unit.name == JOIN:
            # All segments are there, and others give their room back when they are done.
            return DISK_SECONDS * 2.0**lease.tries
        # Memory was short twice, the second time with all that could be had: a third try would end no better.
        if isinstance(error, FaceFusionError) and error.retry_may_help and not isinstance(error, ResourceError):
            return PAUSE_SECONDS * 2.0**lease.tries
        return None

    def _without_video_memory(
        self, lease: Lease, job: JobRecord, error: VideoMemoryError, files: JobFiles | None
    ) -> bool:
        """What passes by itself is waited for; a larger device is looked for before the job is made smaller."""
        unit = lease.unit
        if error.may_pass:
            self._room.miss(error.fault)
            logger.warning("%s of job %s is left to others: %s", unit.name, unit.job, error)
            return self._leases.hand_back(lease, pause=ROOM_SECONDS)
        if error.needed and self._insist(lambda: self._leases.pass_on(lease, self._renderer.breed)):
            logger.warning("%s of job %s is for a larger device: %s", unit.name, unit.job, error)
            return True
        if self._renderer.together > 1 and not job.alone:
            logger.warning("job %s is begun anew with frames one at a time: %s", unit.job, error)
            return self._insist(lambda: self._leases.narrow(lease))
        return self._fail(lease, error, files)

    def _fail(self, lease: Lease, error: Exception, files: JobFiles | None) -> bool:
        state = JobState.REJECTED if isinstance(error, ContentRefusedError) else JobState.FAILED
        fault = fault_of(error, files, "worker", self._private)
        return self._insist(lambda: self._leases.fail(lease, state, fault))
