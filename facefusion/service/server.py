"""The API, put together and served until it is to end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import SetupError
from facefusion.core.stop import POLL_SECONDS, StopToken
from facefusion.service.api.app import create_app
from facefusion.service.api.service import Service
from facefusion.service.audit import AuditLog
from facefusion.service.auth import Gate, address_to_bind
from facefusion.service.callback_hosts import CallbackHosts
from facefusion.service.callbacks import Caller, Courier, signing_key
from facefusion.service.connections import PatientProtocol
from facefusion.service.environment import Secrets
from facefusion.service.health import Readiness, audit_look, disk_look, queue_look, storage_look
from facefusion.service.kept_files import make_private
from facefusion.service.local_worker import Executor, LocalWorker
from facefusion.service.logs import adopt_libraries
from facefusion.service.look import look
from facefusion.service.memory_queue import MemoryQueue
from facefusion.service.monitoring import begin_monitoring
from facefusion.service.ports import FileStore, JobQueue
from facefusion.service.rates import RateLimits
from facefusion.service.retention import Retention
from facefusion.service.seclusion import seclude
from facefusion.service.settings import GIGABYTE, MonitoringSettings, ServiceSettings
from facefusion.service.signed_tokens import build_gate
from facefusion.service.steps import StepRules
from facefusion.service.storage import open_files
from facefusion.service.uploads import UploadLimits, Uploads

if TYPE_CHECKING:
    from facefusion.service.instruments import Metrics

AUDIT_FILE = "audit.jsonl"
PARTS_FOLDER = "uploads"
WORK_FOLDER = "work"
GRACE_SECONDS = 10
"""That requests have to come to their end when the service is to."""
WAITING_CONNECTIONS = 512

Say = Callable[[str], None]
"""Tells the operator something, in one line."""


def serve(snapshot: Snapshot, environment: Mapping[str, str], executor: Executor, say: Say, stop: StopToken) -> None:
    """Answer requests until ``stop`` is requested.

    Args:
        snapshot: the settings in force.
        environment: the process's, where secrets are.
        executor: does jobs, where there is no Redis and so no fleet.
        say: tells the operator.
        stop: ends it.

    Raises:
        SetupError: others could reach a service without a token, the address is taken, or a secret cannot be used.
        OptionError: a setting is not allowed.
        ServiceUnavailableError: the storage cannot be written to.
    """
    seclude()
    settings = snapshot.get(ServiceSettings)
    secrets = Secrets.of(environment)
    gate = build_gate(settings, secrets)
    host = address_to_bind(settings.listen_host, is_open=gate.is_open)
    files = open_files(settings, environment)
    adopt_libraries()
    with listen(host, settings.listen_port) as listening, _queue(settings, secrets) as queue:
        metrics = begin_monitoring(
            places={"storage": settings.storage_path},
            queue=queue,
            address=snapshot.get(MonitoringSettings).metrics_address,
        )
        service = _assemble(snapshot, secrets, gate, files, queue, metrics)
        if isinstance(queue, MemoryQueue):
            temporary = snapshot.get(PathsSettings).temp_path or Path(tempfile.gettempdir())
            # Models are not looked at: who has none yet fetches them for the first job, which would never be let in.
            service.readiness.add("temp", disk_look((temporary,)))
        with _working(snapshot, queue, files, executor, metrics):
            asyncio.run(_Server(service, listening, say, stop).run())


@contextlib.contextmanager
def _queue(settings: ServiceSettings, secrets: Secrets) -> Iterator[JobQueue]:
    """What keeps the jobs: the fleet's Redis, or this process."""
    url = secrets.redis_url or settings.redis_url
    if url is None:
        yield MemoryQueue()
        return
    from facefusion.service.redis_link import RedisLink  # noqa: PLC0415 - not needed without Redis
    from facefusion.service.redis_queue import RedisQueue  # noqa: PLC0415

    with contextlib.closing(RedisLink(url)) as link:
        yield RedisQueue(link)


@contextlib.contextmanager
def _working(
    snapshot: Snapshot, queue: JobQueue, files: FileStore, executor: Executor, metrics: Metrics
) -> Iterator[None]:
    """Does the jobs meanwhile that this process keeps itself."""
    if not isinstance(queue, MemoryQueue):
        yield
        return
    settings = snapshot.get(ServiceSettings)
    folder = make_private(settings.storage_path.absolute() / WORK_FOLDER)
    worker = LocalWorker(queue, files, executor, snapshot, folder, settings.retention_hours, metrics)
    worker.start()
    with contextlib.closing(worker):
        yield


def _assemble(
    snapshot: Snapshot, secrets: Secrets, gate: Gate, files: FileStore, queue: JobQueue, metrics: Metrics
) -> Service:
    settings = snapshot.get(ServiceSettings)
    storage = settings.storage_path.absolute()
    parts = make_private(storage / PARTS_FOLDER)
    limits = UploadLimits.of(settings)
    uploads = Uploads(files, parts, limits, look, ledger=queue.ledger, kept_results=queue.kept_bytes)
    audit = AuditLog(settings.audit_path or storage / AUDIT_FILE)
    audit.check()
    least = round(settings.minimum_free_space * GIGABYTE)
    hosts = CallbackHosts(settings.callback_hosts)
    return Service(
        settings=settings,
        gate=gate,
        rates=RateLimits(settings.requests_per_minute, secrets.redis_url or settings.redis_url),
        queue=queue,
        files=files,
        uploads=uploads,
        retention=Retention(files, queue, (uploads.sweep, files.sweep), settings.retention_hours),
        rules=StepRules(snapshot, settings.client_options),
        audit=audit,
        readiness=Readiness(
            {"queue": queue_look(queue), "storage": storage_look(files, least), "audit": audit_look(audit)}
        ),
        callbacks=hosts,
        courier=_courier(hosts, secrets, queue, audit, metrics) if hosts.are_any else None,
        exposition=metrics.exposition,
        observe=metrics.request_answered,
    )


def _courier(hosts: CallbackHosts, secrets: Secrets, queue: JobQueue, audit: AuditLog, metrics: Metrics) -> Courier:
    """Who makes calls at the end of jobs.

    Raises:
        SetupError: there is nothing to sign them with.
    """
    if secrets.callback_secret is None:
        raise SetupError(
            "--callback-hosts lets jobs have somebody called, and there is no secret to sign that with",
            "Set API_CALLBACK_SECRET, which receivers verify calls with, or API_CALLBACK_SECRET_FILE.",
        )
    return Courier(queue.outbox, hosts, Caller(signing_key(secrets.callback_secret)), audit, metrics.called_back)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        SetupError: it cannot.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            if sys.platform != "win32":  # where it would let two servers have one address
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(WAITING_CONNECTIONS)
        except BaseException:
            listening.close()
            raise
    except (OSError, UnicodeError) as error:  # a name may hold what no name can
        reason = getattr(error, "strerror", None) or str(error)
        raise SetupError(
            f"--listen-host {host} --listen-port {port}: cannot be listened on ({reason[:1].lower()}{reason[1:]})",
            "Choose another port if a program listens there, and an address of this machine's.",
        ) from error
    return listening


class _Server:
    """The web server, which begins and ends as the rest of the program does."""

    def __init__(self, service: Service, listening: socket.socket, say: Say, stop: StopToken) -> None:
        self._service = service
        self._listening = listening
        self._say = say
        self._stop = stop
        proxies = service.settings.trusted_proxies
        self._server = uvicorn.Server(
            uvicorn.Config(
                create_app(service),
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=bool(proxies),
                forwarded_allow_ips=list(proxies),
                timeout_graceful_shutdown=GRACE_SECONDS,
                http=PatientProtocol,
                ws="none",
                lifespan="on",
            )
        )

    async def run(self) -> None:
        """Serve until a stop is requested."""
        watching = asyncio.create_task(self._watch())
        try:
            await self._server.serve(sockets=[self._listening])
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        while not (self._server.started or self._stop.requested):
            await asyncio.sleep(POLL_SECONDS)
        if self._server.started:
            self._greet()
        while not self._stop.requested:
            await asyncio.sleep(POLL_SECONDS)
        self._service.streams.ending.set()
        self._server.should_exit = True

    def _greet(self) -> None:
        host, port = self._listening.getsockname()[:2]
        url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._say(f"Serving the API on {url}; its documentation is {url}/docs")
        if self._service.gate.is_open:
            self._say("No token is set: only this machine can reach it.")
