"""What is logged during a job says which one it is about, whoever logs it."""

from __future__ import annotations

import io
import json
import logging

import pytest

from facefusion.observability.log import set_up_logging
from facefusion.observability.terminal import Terminal
from facefusion.service.logs import LIBRARIES, adopt_libraries, working_on_job


@pytest.fixture
def stream():
    stream = io.StringIO()
    set_up_logging("info", Terminal(stream), json=True)
    return stream


@pytest.fixture(autouse=True)
def libraries_as_they_were():
    loggers = [logging.getLogger(name) for name in LIBRARIES]
    before = [(one.handlers[:], one.propagate, one.level) for one in loggers]
    yield
    for one, (handlers, propagate, level) in zip(loggers, before, strict=True):
        one.handlers[:], one.propagate = handlers, propagate
        one.setLevel(level)


def lines(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_record_names_job_and_segment(stream):
    logger = logging.getLogger("facefusion.service.test")
    with working_on_job("4c1f"):
        logger.info("planned")
        with working_on_job("4c1f", 0):
            logger.info("rendered")
    logger.info("idle")
    planned, rendered, idle = lines(stream)
    assert (planned["job"], "segment" in planned) == ("4c1f", False)
    assert (rendered["job"], rendered["segment"], rendered["message"]) == ("4c1f", 0, "rendered")
    assert "job" not in idle


def test_libraries_are_said_as_json_without_their_chatter(stream):
    own = io.StringIO()
    server = logging.getLogger("uvicorn.error")
    server.addHandler(logging.StreamHandler(own))
    adopt_libraries()
    server.warning("a client went away")
    logging.getLogger("uvicorn.access").info('10.0.0.7 - "GET /v1/assets/77"')
    assert [(line["module"], line["message"]) for line in lines(stream)] == [("uvicorn.error", "a client went away")]
    assert own.getvalue() == ""
