"""Celery as the fleet uses it: it carries messages to workers by priority, and nothing more.

A message says that there is a unit to take. Whether it may be taken, and whether its result counts, is for
:mod:`.leases` to say; so a message that comes twice or late does no harm, and one that is lost is sent again.
Decision 0039 says why.
"""

from __future__ import annotations

from celery import Celery
from kombu.entity import Queue

from facefusion.service.records import Priority

TASK = "facefusion.unit"
"""Name of the one task; its arguments are the id of a job and the name of a unit."""

VISIBILITY_SECONDS = 1800
"""A message that is not acknowledged for so long is given to another worker. Longer than any segment takes; a worker
that is lost is noticed by its lease, long before."""


def new_queue(priority: Priority) -> str:
    """The queue of jobs that nobody has begun."""
    return f"facefusion.{priority.value}"


def begun_queue(priority: Priority, breed: str) -> str:
    """The queue of segments and joins of jobs that a breed of workers has begun."""
    return f"{new_queue(priority)}.{breed}"


def worker_queues(breed: str) -> list[str]:
    """All queues of a worker, in the order in which it empties them: what is begun before what is not."""
    return [queue for each in Priority for queue in (begun_queue(each, breed), new_queue(each))]


def make_celery(url: str) -> Celery:
    """The application; nothing is connected yet.

    Args:
        url: of Redis.
    """
    app = Celery("facefusion", broker=url, set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        # What comes of a task is committed with its lease, and nobody asks Celery for it.
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        worker_concurrency=1,
        broker_transport_options={
            "visibility_timeout": VISIBILITY_SECONDS,
            "queue_order_strategy": "priority",
            "socket_timeout": 30,
            "socket_connect_timeout": 10,
            "health_check_interval": 30,
        },
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        # Commands to workers and their news would pile up while a solo worker works, and nobody reads them.
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
    )
    return app


def listen_to(app: Celery, queues: list[str]) -> None:
    """Make an application listen to these queues, in their order."""
    app.conf.task_queues = [Queue(name, routing_key=name) for name in queues]
