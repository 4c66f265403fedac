import asyncio
import json

import pytest

pytestmark = pytest.mark.service


def cut_off(app):
    """What a client is told where the server ends while ``app`` is at it."""
    from facefusion.service.api.protection import Protection

    sent = []

    async def run():
        async def send(message):
            sent.append(message)

        async def receive():
            raise AssertionError("nothing is asked of the client")

        scope = {"type": "http", "method": "GET", "path": "/v1/jobs", "headers": []}
        task = asyncio.ensure_future(Protection(app, is_open=False)(scope, receive, send))
        await asyncio.sleep(0)
        task.cancel()
        await task

    asyncio.run(run())
    return sent


def test_a_request_that_the_servers_end_cuts_off_is_told_so_and_leaves_no_trace(caplog):
    async def app(scope, receive, send):
        await asyncio.Event().wait()

    start, body = cut_off(app)
    assert start["status"] == 503
    assert (b"retry-after", b"5") in start["headers"]
    assert json.loads(body["body"])["detail"].startswith("The server ends.")
    assert [record.exc_info for record in caplog.records] == [None]


def test_an_answer_that_the_servers_end_cuts_off_gets_no_second_one():
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.Event().wait()

    (start,) = cut_off(app)
    assert start["status"] == 200


def test_a_request_whose_end_is_told_in_two_ways_is_refused():
    from facefusion.service.api.protection import Protection

    sent = []

    async def run():
        async def nothing(*_):
            raise AssertionError("it gets no further")

        async def send(message):
            sent.append(message)

        headers = [(b"transfer-encoding", b"chunked"), (b"content-length", b"5")]
        scope = {"type": "http", "method": "POST", "path": "/v1/assets", "headers": headers}
        await Protection(nothing, is_open=False)(scope, nothing, send)

    asyncio.run(run())
    assert sent[0]["status"] == 400
    assert json.loads(sent[1]["body"])["fault"] == "the request tells the end of its body in two ways"
