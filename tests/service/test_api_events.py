"""Jobs, as they are watched."""

import asyncio
import contextlib
import json
import threading

import pytest

from facefusion.service.api import events
from facefusion.service.api.service import MOST_STREAMS
from facefusion.service.records import JobState, Progress
from tests.service.api import SUBMITTER, Api

pytestmark = pytest.mark.service


@pytest.fixture
def api(tmp_path):
    return Api(tmp_path)


def read(answer):
    """The events of a stream, each as its fields."""
    found = []
    for block in answer.text.split("\n\n"):
        lines = [line.partition(": ") for line in block.splitlines() if not line.startswith(":")]
        if lines:
            found.append({name: json.loads(value) if name == "data" else value for name, _, value in lines})
    return found


def watch(api, job, **headers):
    return api.client.get(f"/v1/jobs/{job}/events", headers={**SUBMITTER, **headers})


def test_a_stream_begins_with_how_the_job_stands_and_ends_with_its_end(api):
    job = api.job()

    def work():
        api.queue.take(0)
        api.queue.advance(job, Progress(done=5, total=10, rate=2.5))
        threading.Event().wait(0.5)
        api.queue.finish(job, JobState.COMPLETED)

    thread = threading.Timer(0.3, work)
    thread.start()
    answer = watch(api, job)
    thread.join()
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    found = read(answer)
    assert [(event["event"], event["data"]["state"]) for event in found] == [
        ("progress", "queued"),
        ("progress", "running"),
        ("end", "completed"),
    ]
    assert found[1]["data"]["progress"]["seconds_left"] == 2.0
    assert "id" not in found[0]
    assert int(found[1]["id"]) < int(found[2]["id"])


def test_a_job_that_is_final_is_told_once(api):
    job = api.job()
    api.complete(job)
    assert [event["data"]["state"] for event in read(watch(api, job))] == ["completed"]


@pytest.mark.parametrize("last", ["1", "0", "nonsense!", "x" * 100])
def test_whoever_lost_the_connection_goes_on(api, last):
    job = api.job()
    api.complete(job)
    found = read(watch(api, job, **{"Last-Event-ID": last}))
    assert found[-1]["data"]["state"] == "completed"


def test_a_change_that_was_never_told_is_found_all_the_same(api, monkeypatch):
    job = api.job()

    async def silent(job_id, after):
        await asyncio.sleep(60)
        yield

    monkeypatch.setattr(api.queue, "events", silent)
    monkeypatch.setattr(events, "QUIET_SECONDS", 0.2)
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.05)
    timer = threading.Timer(0.5, lambda: api.queue.cancel(job))
    timer.start()
    answer = watch(api, job)
    timer.join()
    assert [event["data"]["state"] for event in read(answer)] == ["queued", "cancelled"]
    assert ": still here\n\n" in answer.text


def test_a_job_that_is_erased_ends_the_stream(api, monkeypatch):
    job = api.job()
    monkeypatch.setattr(events, "QUIET_SECONDS", 0.1)
    monkeypatch.setattr(events, "LOOK_SECONDS", 0.05)

    def erase():
        api.queue.cancel(job)
        api.queue.erase(job)

    timer = threading.Timer(0.3, erase)
    timer.start()
    assert read(watch(api, job))[0]["data"]["state"] == "queued"
    timer.join()


def test_the_end_of_the_service_ends_streams(api):
    job = api.job()
    timer = threading.Timer(0.3, api.service.streams.ending.set)
    timer.start()
    assert [event["data"]["state"] for event in read(watch(api, job))] == ["queued"]
    timer.join()


def test_watchers_of_one_user_are_limited(api):
    job = api.job()
    api.complete(job)
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_STREAMS):
            stack.enter_context(api.service.streams.watching("user:ann"))
        answer = watch(api, job)
    assert watch(api, job).status_code == 200
    assert answer.status_code == 429
    assert answer.json()["fault"] == f"you watch {MOST_STREAMS} jobs already"


SCOPE = {"type": "http", "asgi": {"spec_version": "2.3"}}


async def stream(api, job, receive, send):
    """Have a watcher told as a web server does it."""
    await asyncio.wait_for(events.EventStream(api.service, "user:ann", job, None)(SCOPE, receive, send), 20)


def nobody_watches(api):
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_STREAMS):
            stack.enter_context(api.service.streams.watching("user:ann"))
        return True


def test_whoever_goes_away_is_told_nothing_more_and_counts_no_more(api):
    job, told = api.job(), []

    was_told = asyncio.Event()

    async def receive():
        await was_told.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        told.append(message)
        if message["type"] == "http.response.body":
            was_told.set()

    asyncio.run(stream(api, job, receive, send))
    assert [message["type"] for message in told] == ["http.response.start", "http.response.body"]
    assert nobody_watches(api)


def test_whoever_takes_nothing_is_given_up(api, monkeypatch):
    monkeypatch.setattr(events, "PATIENCE_SECONDS", 0.2)
    job = api.job()

    async def never(*_):
        await asyncio.Event().wait()

    asyncio.run(stream(api, job, never, never))
    assert nobody_watches(api)
