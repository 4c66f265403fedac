"""Connections that send nothing, or not enough."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn

from facefusion.service import connections

pytestmark = pytest.mark.service

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def app(scope, receive, send):
    await asyncio.sleep(0.6)  # longer than a head may take
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def talk(*pieces: bytes) -> bytes:
    """What is answered to pieces that follow each other slowly, until the connection is closed."""
    config = uvicorn.Config(
        app, http=connections.PatientProtocol, lifespan="off", log_config=None, timeout_keep_alive=1
    )
    config.load()
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(
        lambda: connections.PatientProtocol(config, server.server_state, {}), "127.0.0.1", 0
    )
    try:
        reader, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.1)
        answer = await asyncio.wait_for(reader.read(), 5)
        writer.close()
        await writer.wait_closed()
    finally:
        listening.close()
        await listening.wait_closed()
    return answer


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.4)


@pytest.mark.parametrize("pieces", [(), (b"GET / HTTP/1.1\r\n", b"X-A: 1\r\n", b"X-B: 2\r\n")])
def test_a_connection_on_which_no_request_begins_is_closed(pieces):
    assert asyncio.run(talk(*pieces)) == b""


def test_a_request_that_takes_its_time_is_answered_and_a_second_that_does_not_begin_is_not_waited_for():
    answer = asyncio.run(talk(REQUEST[:20], REQUEST[20:]))
    assert answer.startswith(b"HTTP/1.1 204 ")
    answer = asyncio.run(talk(REQUEST + b"GET / HT"))
    assert answer.count(b"HTTP/1.1") == 1
