"""Sends the messages that are due."""

from __future__ import annotations

import logging

import kombu.exceptions
from celery import Celery

from facefusion.service.celery_app import TASK, make_celery
from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.leases import MOST_SENT, Leases
from facefusion.service.redis_link import RedisLink, reaching
from facefusion.service.redis_queue import KEPT_SECONDS, RedisQueue

logger = logging.getLogger(__name__)

MOST_ROUNDS = 20
"""How often it is looked for more at one go."""


class Messenger:
    """Hands due messages to Celery. Thread-safe.

    Messages are written down in Redis with what makes them due, and crossed out once Celery has them. So a crash in
    between sends one twice, and never loses one.
    """

    def __init__(self, app: Celery, leases: Leases) -> None:
        self._app = app
        self._leases = leases

    def send_due(self) -> int:
        """Send what is due, up to some hundreds; how many that were.

        Raises:
            ServiceUnavailableError: Redis cannot be used.
        """
        count = 0
        for _ in range(MOST_ROUNDS):
            messages = self._leases.due()
            try:
                with reaching(), self._app.producer_pool.acquire(block=True) as producer:
                    for each in messages:
                        arguments = (each.unit.job, each.unit.name)
                        self._app.send_task(TASK, arguments, queue=each.queue, producer=producer)
            except kombu.exceptions.OperationalError as error:
                remedy = "See that redis-server runs and that REDIS_URL names it."
                raise ServiceUnavailableError(f"Redis cannot be used: {error}", remedy) from error
            self._leases.sent(messages)
            count += len(messages)
            if len(messages) < MOST_SENT:
                break
        return count

    def announce(self) -> None:
        """Send what is due, if that can be done; else a worker does it a little later."""
        try:
            self.send_due()
        except ServiceUnavailableError as error:
            logger.warning("messages wait: %s", error)


def open_queue(url: str, *, kept_seconds: float = KEPT_SECONDS) -> RedisQueue:
    """The fleet's queue, for whoever submits jobs to it.

    Args:
        url: of Redis.
        kept_seconds: how long a job that is final is remembered.
    """
    link = RedisLink(url)
    messenger = Messenger(make_celery(url), Leases(link, "submitter", kept_seconds=kept_seconds))
    return RedisQueue(link, messenger.announce, kept_seconds)
