import logging

import pytest

from facefusion.core.errors import ContentRefusedError, ModelError, OutputError, ResourceError
from facefusion.service.errors import (
    ForbiddenError,
    NotFoundError,
    QueueFullError,
    RateLimitError,
    ServiceUnavailableError,
    StorageFullError,
    UnauthorisedError,
)
from facefusion.service.problems import FieldFault, FieldsError, kind_of_error, plain_problem, problem_of, slug


def test_an_error_is_told_in_the_words_of_the_command_line():
    problem = problem_of(ContentRefusedError("the target shows what is not allowed", "Choose another."))
    assert problem.status == 451
    assert problem.body == {
        "type": "urn:facefusion:problem:content-refused",
        "title": "Unavailable For Legal Reasons",
        "status": 451,
        "detail": "the target shows what is not allowed. Choose another.",
        "fault": "the target shows what is not allowed",
        "remedy": "Choose another.",
        "retry_may_help": False,
    }
    assert problem.headers == {}


def test_fields_are_named_one_by_one():
    problem = problem_of(FieldsError([FieldFault("step.a", "a is wrong."), FieldFault("step.b", "b too.")]))
    assert problem.status == 422
    assert problem.body["detail"] == "a is wrong; b too."
    assert problem.body["errors"] == [
        {"field": "step.a", "detail": "a is wrong."},
        {"field": "step.b", "detail": "b too."},
    ]


@pytest.mark.parametrize(
    ("error", "status", "headers"),
    [
        (UnauthorisedError("no"), 401, {"WWW-Authenticate": 'Bearer realm="facefusion"'}),
        (ForbiddenError("no"), 403, {}),
        (NotFoundError("no"), 404, {}),
        (QueueFullError("no", seconds=60), 429, {"Retry-After": "60"}),
        (RateLimitError("no", seconds=7), 429, {"Retry-After": "7"}),
        (StorageFullError("no"), 507, {"Retry-After": "60"}),
        (ServiceUnavailableError("no"), 503, {"Retry-After": "60"}),
    ],
)
def test_statuses_have_the_headers_that_belong_to_them(error, status, headers):
    problem = problem_of(error)
    assert (problem.status, problem.headers) == (status, headers)
    assert problem.body["status"] == status


SECRET = "/srv/storage/assets/redis://:pass@host"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError(SECRET), 500),
        (OSError(5, SECRET), 500),
        (OutputError(f"{SECRET} cannot be written"), 500),
        (ResourceError(f"{SECRET} cannot be written: the disk is full"), 507),
        (ModelError(f"{SECRET} is no model"), 503),
    ],
)
def test_what_is_not_for_clients_goes_into_the_log_under_an_id(error, status, caplog):
    with caplog.at_level(logging.ERROR):
        problem = problem_of(error)
    assert problem.status == status
    assert SECRET not in str(problem.body)
    assert str(problem.body["log_id"]) in str(problem.body["detail"])
    assert str(problem.body["log_id"]) in caplog.records[-1].getMessage()
    assert caplog.records[-1].exc_info is not None
    assert caplog.records[-1].exc_info[1] is error


def test_what_is_away_is_one_line_in_the_log_for_each_request(caplog):
    error = ServiceUnavailableError("requests cannot be counted")
    error.__cause__ = ConnectionError(SECRET)
    problem = problem_of(error)
    assert problem.status == 503
    assert SECRET not in str(problem.body)
    (record,) = caplog.records
    told = f"request failed, told the client as {problem.body['log_id']}: requests cannot be counted. ({SECRET})"
    assert record.getMessage() == told
    assert record.exc_info is None


def test_a_plain_problem_is_named_after_its_status():
    assert plain_problem(405, "Not so.").body == {
        "type": "urn:facefusion:problem:method-not-allowed",
        "title": "Method Not Allowed",
        "status": 405,
        "detail": "Not so.",
    }
    assert plain_problem(599, "What.").body["title"] == "Error"


def test_kinds_of_errors_are_words():
    assert kind_of_error(QueueFullError("x")) == "queue-full"
    assert kind_of_error(KeyError("x")) == "internal"
    assert slug("Not Found") == slug("NotFound") == "not-found"
