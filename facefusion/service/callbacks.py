"""Calls whoever asked for it when a job is at its end.

A call is a POST with a small JSON document, signed as Standard Webhooks 1.0 has it (standardwebhooks.com), so that its
receivers need no code of ours: ``webhook-id`` is the job's id and the same in every try, ``webhook-timestamp`` the time
of the try, ``webhook-signature`` the HMAC-SHA256 of ``ID.TIMESTAMP.BODY``. It holds no file name.

Each call is made at least once, if its receiver can be reached within some hours: what takes a call out of the outbox
and ends meanwhile loses nothing.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hashlib
import hmac
import ipaddress
import json
import logging
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

import httpx2

from facefusion import __version__
from facefusion.core.errors import FaceFusionError, SetupError
from facefusion.service.audit import DONE, AuditLog, Entry
from facefusion.service.callback_hosts import Address, CallbackHosts, Callee, is_of_the_platform, is_public
from facefusion.service.errors import ServiceUnavailableError
from facefusion.service.outbox import Call, Outbox
from facefusion.service.records import JobRecord

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 5.0
CALL_SECONDS = 15.0
"""That a call may take in all."""
HOLD_SECONDS = 60.0
"""After which a call that was taken and neither made nor put off is due again."""
PAUSES = (5.0, 30.0, 120.0, 600.0, 1800.0, 7200.0, 21600.0)
"""Seconds between two tries. After the last one the call is given up: 9 hours."""
AT_ONCE = 4
"""Calls that one process makes at a time; a receiver that is slow does not hold up the others."""
LOOK_SECONDS = 1.0
"""Between two looks whether a call is due."""
AWAY_SECONDS = 5.0
"""Until the next look where what keeps the calls is away."""

ACTION = "call back"
DELIVERED, FAILED, GIVEN_UP = "delivered", "failed", "given_up"
"""What comes of a try; the label of the metric."""
GONE = 410
"""Of HTTP: the receiver wants no more of it."""

SECRET_PREFIX = "whsec_"

Resolver = Callable[[str, int], Awaitable[Sequence[Address]]]
"""Finds the addresses of a host."""


class _NotMadeError(Exception):
    """A call was not made; the text says why, without the address."""


def signing_key(secret: str) -> bytes:
    """The key that a secret stands for: what follows ``whsec_``, from base64, or its own text.

    Raises:
        SetupError: it begins like the former and is none.
    """
    if not secret.startswith(SECRET_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error as error:
        raise SetupError(
            f"API_CALLBACK_SECRET begins with {SECRET_PREFIX}, and what follows is no base64",
            "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'",
        ) from error


def signature(key: bytes, name: str, moment: int, body: bytes) -> str:
    """The header ``webhook-signature``.

    Args:
        key: see :func:`signing_key`.
        name: the header ``webhook-id``.
        moment: the header ``webhook-timestamp``, in seconds since 1970.
        body: of the request.
    """
    mac = hmac.new(key, f"{name}.{moment}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(mac).decode()}"


def body_of(job: JobRecord) -> bytes:
    """What is told of a job that is at its end."""
    place = f"/v1/jobs/{job.id}"
    ended = datetime.fromtimestamp(job.created if job.ended is None else job.ended, UTC)
    document = {
        "type": f"job.{job.state.value}",
        "timestamp": ended.isoformat(timespec="milliseconds"),
        "data": {
            "id": job.id,
            "state": job.state.value,
            "created": job.created,
            "started": job.started,
            "ended": job.ended,
            "links": {"job": place, "result": None if job.result is None else f"{place}/result"},
        },
    }
    return json.dumps(document).encode()


async def resolve(host: str, port: int) -> Sequence[Address]:
    """The addresses of a host, as this machine finds them.

    Raises:
        OSError: it is not known.
    """
    with contextlib.suppress(ValueError):
        return [ipaddress.ip_address(host)]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


class Caller:
    """Makes calls.

    Args:
        key: signs them.
        resolver: finds addresses.
        trust: who may vouch for receivers; this machine's authorities where none.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        key: bytes,
        resolver: Resolver = resolve,
        trust: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._key = key
        self._resolve = resolver
        self._trust = trust or ssl.create_default_context()
        self._clock = clock

    async def call(self, callee: Callee, job: JobRecord) -> int:
        """Call once; the status of the answer, of which nothing else is read.

        Raises:
            _NotMadeError: there was none.
        """
        try:
            async with asyncio.timeout(CALL_SECONDS):
                return await self._post(callee, await self._addresses(callee), job)
        except TimeoutError as error:
            raise _NotMadeError(f"no answer within {CALL_SECONDS:g} seconds") from error

    async def _addresses(self, callee: Callee) -> Sequence[Address]:
        try:
            found = await self._resolve(callee.host, callee.port)
        except (OSError, UnicodeError) as error:
            raise _NotMadeError("its host is not known") from error
        if any(is_of_the_platform(address) for address in found):
            raise _NotMadeError("its host has an address at which clouds tell their machines secrets")
        if not callee.may_be_private and not all(is_public(address) for address in found):
            raise _NotMadeError("its host has an address that is not public, which the operator does not allow")
        return found

    async def _post(self, callee: Callee, addresses: Sequence[Address], job: JobRecord) -> int:
        body, moment = body_of(job), int(self._clock())
        headers = {
            "Host": callee.authority,
            "Content-Type": "application/json",
            "User-Agent": f"facefusion/{__version__}",
            "webhook-id": job.id,
            "webhook-timestamp": str(moment),
            "webhook-signature": signature(self._key, job.id, moment, body),
        }
        reason = "its host has no address"
        # No proxy out of the environment, no redirects, no cookies: one request, to one place.
        async with httpx2.AsyncClient(
            verify=self._trust,
            trust_env=False,
            follow_redirects=False,
            timeout=httpx2.Timeout(CALL_SECONDS, connect=CONNECT_SECONDS),
        ) as client:
            for address in addresses:
                # The address that was looked at is the one that is connected to; the name is for TLS and the receiver.
                url = httpx2.URL(
                    scheme=callee.scheme, host=str(address), port=callee.port, raw_path=callee.path.encode()
                )
                request = client.build_request(
                    "POST", url, content=body, headers=headers, extensions={"sni_hostname": callee.host}
                )
                try:
                    answer = await client.send(request, stream=True)
                except httpx2.ConnectError as error:
                    reason = f"it cannot be reached: {error}"
                    continue
                except httpx2.HTTPError as error:
                    raise _NotMadeError(f"it did not answer: {type(error).__name__}") from error
                await answer.aclose()
                return answer.status_code
        raise _NotMadeError(reason)


class Courier:
    """Makes the calls that are due, until it is cancelled.

    Args:
        outbox: of all calls.
        hosts: that may be called, at this moment.
        caller: makes one.
        audit: gets a line for each call that was made, or given up.
        count: is told what came of each try.
    """

    def __init__(
        self,
        outbox: Outbox,
        hosts: CallbackHosts,
        caller: Caller,
        audit: AuditLog,
        count: Callable[[str], None],
    ) -> None:
        self._outbox = outbox
        self._hosts = hosts
        self._caller = caller
        self._audit = audit
        self._count = count

    async def run(self) -> None:
        """Make calls as they are due."""
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            try:
                pause = 0.0 if await self.call_next() else LOOK_SECONDS
            except ServiceUnavailableError as error:
                logger.warning("calls wait: %s", error)
                pause = AWAY_SECONDS
            except Exception:  # the next one may go better; what was taken is due again
                logger.exception("a call failed unexpectedly")
                pause = AWAY_SECONDS
            await asyncio.sleep(pause)

    async def call_next(self) -> bool:
        """Make the call that is due, if one is; whether one was.

        Raises:
            ServiceUnavailableError: what keeps the calls cannot be reached.
        """
        call = await asyncio.to_thread(self._outbox.take, HOLD_SECONDS)
        if call is None:
            return False
        outcome = await self._call(call)
        await asyncio.to_thread(self._note, call, outcome)
        return True

    async def _call(self, call: Call) -> str:
        """Make a call; what came of it."""
        job = call.job
        host = "a host"
        try:
            # The list may be another one than when the job was taken in.
            callee = self._hosts.callee(job.callback or "")
            host = callee.host
            status = await self._caller.call(callee, job)
        except FaceFusionError as error:
            logger.warning("the call for job %s is not made: %s", job.id, error)
            return GIVEN_UP
        except _NotMadeError as error:
            reason = str(error)
        else:
            if 200 <= status < 300:
                return DELIVERED
            reason = f"it answered with status {status}"
            if status == GONE:
                logger.warning("the call of %s for job %s is given up: %s", host, job.id, reason)
                return GIVEN_UP
        is_last = call.tries > len(PAUSES)
        logger.warning(
            "the call of %s for job %s failed (try %d%s): %s",
            host, job.id, call.tries, ", the last one" if is_last else "", reason,
        )  # fmt: skip
        return GIVEN_UP if is_last else FAILED

    def _note(self, call: Call, outcome: str) -> None:
        job = call.job
        self._count(outcome)
        if outcome == FAILED:
            self._outbox.postpone(job.id, PAUSES[call.tries - 1])
            return
        self._outbox.cross_out(job.id)
        entry = Entry(job.owner, "", ACTION, job=job.id)
        try:
            self._audit.write(entry, DONE if outcome == DELIVERED else "given-up")
        except ServiceUnavailableError as error:
            logger.error("a call is missing in the audit log: %s of job %s: %s", outcome, job.id, error)
