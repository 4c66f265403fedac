"""A worker with a stub for an engine, as a process: ``... tests.service.stub_worker URL FOLDER BREED [BUCKET]``."""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

from facefusion.cli.signals import work_listening
from facefusion.core.stop import StopToken
from facefusion.observability.events import Event
from facefusion.observability.terminal import Terminal
from facefusion.service.fleet_worker import Terms, run_worker
from facefusion.service.ports import FileStore
from facefusion.service.records import JobRecord
from tests.service.stub_files import StubFiles
from tests.service.stub_renderer import LEASE_SECONDS, STUB_PATIENCE, StubRenderer

BUCKET_PATIENCE = 0.5
"""Seconds that a storage is waited for; shorter than a worker's, so that tests need not wait for long."""


class Voice:
    """Says when a segment is committed, and holds the worker there for as long as a test wants.

    Args:
        folder: of the test.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def emit(self, event: Event) -> None:
        pass

    def segment_done(self) -> None:
        (self._folder / "diary" / f"committed-{os.getpid()}-{time.time_ns()}").touch()
        while (self._folder / "hold").exists():
            time.sleep(0.02)

    def job_ended(self, job: JobRecord) -> None:
        pass


def files_at(address: str) -> FileStore:
    from facefusion.service.bucket import open_bucket
    from facefusion.service.object_store import ObjectStore

    return ObjectStore(open_bucket(address, os.environ, BUCKET_PATIENCE))


def main(url: str, folder: Path, breed: str, address: str = "") -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(name)s %(message)s")
    stop = StopToken()
    renderer = StubRenderer(breed, folder / "diary")

    def work() -> None:
        files = files_at(address) if address else StubFiles(folder / "files")
        terms = Terms(retention_hours=1, patience=STUB_PATIENCE, lease_seconds=LEASE_SECONDS)
        run_worker(url, renderer, files, Voice(folder), stop, terms)

    work_listening(work, stop, Terminal(sys.stderr))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
