"""What is worked on goes with every JSON record, also from threads that a run starts."""

from __future__ import annotations

import json
import threading

from facefusion.observability.context import work_at_hand, working_on
from facefusion.observability.records import JsonFormatter, TextFormatter, spoken_record


def on_a_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_nothing_is_said_where_nothing_is_worked_on():
    assert dict(work_at_hand()) == {}
    assert "job" not in json.loads(JsonFormatter().format(spoken_record("hello")))


def test_a_record_has_what_is_worked_on_and_text_has_not():
    with working_on({"job": "a1"}), working_on({"segment": 3}):
        record = spoken_record("rendered")
        said = json.loads(JsonFormatter().format(record))
        assert (said["job"], said["segment"], said["message"]) == ("a1", 3, "rendered")
        assert TextFormatter().format(record) == "rendered"
    assert dict(work_at_hand()) == {}


def test_fields_of_an_event_win():
    with working_on({"job": "a1"}):
        said = json.loads(JsonFormatter().format(spoken_record("x", fields={"job": "of a job file"})))
    assert said["job"] == "of a job file"


def test_a_thread_of_the_only_work_knows_it():
    with working_on({"job": "a1"}), working_on({"segment": 3}):
        assert on_a_thread(work_at_hand) == {"job": "a1", "segment": 3}
    assert on_a_thread(work_at_hand) == {}


def test_a_thread_is_told_nothing_where_two_jobs_are_under_way():
    begun, ended = threading.Event(), threading.Event()

    def other():
        with working_on({"job": "b2"}):
            begun.set()
            ended.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert begun.wait(10)
        with working_on({"job": "a1"}):
            assert dict(work_at_hand()) == {"job": "a1"}
            assert on_a_thread(work_at_hand) == {}
    finally:
        ended.set()
        thread.join()


def test_what_is_worked_on_ends_with_an_error():
    try:
        with working_on({"job": "a1"}):
            raise ValueError
    except ValueError:
        pass
    assert dict(work_at_hand()) == {}
    assert on_a_thread(work_at_hand) == {}
