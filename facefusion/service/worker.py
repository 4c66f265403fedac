"""A worker of the fleet: one process, one device, models that stay loaded from one unit to the next."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from celery import Celery
from celery.worker import WorkController, state

from facefusion.core.stop import StopToken
from facefusion.service.celery_app import TASK, listen_to, worker_queues
from facefusion.service.celery_messages import Messenger
from facefusion.service.leases import Leases, Unit
from facefusion.service.listening import Listening, lose_connection
from facefusion.service.logs import adopt_libraries
from facefusion.service.tender import Tender

logger = logging.getLogger(__name__)

TEND_SECONDS = 1.0
"""How often the fleet is looked after, and a stop passed on."""


class Worker:
    """Does units until it is stopped; then it finishes the one that it has.

    Args:
        app: Celery's application.
        leases: of the fleet.
        breed: see :class:`~facefusion.service.rendering.Renderer`.
        do: does a unit.
    """

    def __init__(self, app: Celery, leases: Leases, breed: str, do: Callable[[Unit], None]) -> None:
        self._app = app
        self._leases = leases
        self._breed = breed
        self._do = do
        self._messenger = Messenger(app, leases)
        self._queues = worker_queues(breed)
        self._controller: WorkController | None = None
        self._listening = Listening(self._listen_anew)
        self._tender = Tender(leases, self._messenger, self._listening, breed, self._queues)

    def run(self, stop: StopToken) -> None:
        """Work until ``stop`` is requested and the unit at hand is done.

        Raises:
            ServiceUnavailableError: Redis cannot be used at the start. Later it is waited for.
        """
        self._leases.beat(self._breed)
        self._define_task()
        listen_to(self._app, self._queues)
        adopt_libraries()
        with self._tending(stop):
            state.should_stop = None
            try:
                self._controller = WorkController(
                    app=self._app,
                    hostname=None,
                    pool_cls="solo",
                    concurrency=1,
                    loglevel=logging.WARNING,
                    without_heartbeat=True,
                    without_mingle=True,
                    without_gossip=True,
                )
                self._controller.start()
            finally:
                state.should_stop = None

    def _define_task(self) -> None:
        def unit(job: str, name: str) -> None:
            with self._listening.heard():
                self._do(Unit(job, name))
                self._messenger.announce()

        self._app.task(unit, name=TASK)

    def _listen_anew(self) -> None:
        hub = None if self._controller is None else self._controller.hub
        if hub is not None:  # there is none yet, or none on this system
            hub.call_soon(lose_connection)

    @contextmanager
    def _tending(self, stop: StopToken) -> Iterator[None]:
        over = threading.Event()
        thread = threading.Thread(target=self._tend, args=(stop, over), name="fleet", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self._tender.leave()

    def _tend(self, stop: StopToken, over: threading.Event) -> None:
        while not over.wait(TEND_SECONDS):
            if stop.requested:
                state.should_stop = 0  # Celery knows no other way to be told from outside of its signal handlers
            self._tender.look()
