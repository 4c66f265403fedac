"""Logs of the service: one JSON object a line, each with the job and the segment that it is about."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from facefusion.observability.context import working_on

LIBRARIES = ("uvicorn", "uvicorn.error", "uvicorn.access", "celery", "celery.task", "celery.worker", "kombu")
"""Loggers that bring handlers of their own, whose lines no machine reads."""
SILENT = ("uvicorn.access", "httpx2")
"""What they say is in the audit log already, and there without names of assets and of those who are called."""


@contextmanager
def working_on_job(job_id: str, segment: int | None = None) -> Iterator[None]:
    """Have everything that is said in the block, also by threads of its run, tell which job it is about.

    Args:
        job_id: goes under ``job``.
        segment: index of a segment, under ``segment``; none where the whole job is meant.
    """
    with working_on({"job": job_id} if segment is None else {"job": job_id, "segment": segment}):
        yield


def adopt_libraries() -> None:
    """Have what servers and queues log said as everything else is, once logging is set up.

    Uvicorn is to be started with ``log_config=None``, and Celery with ``worker_hijack_root_logger`` off.
    """
    for name in LIBRARIES:
        library = logging.getLogger(name)
        library.handlers.clear()
        library.propagate = True
    for name in SILENT:
        logging.getLogger(name).setLevel(logging.WARNING)
