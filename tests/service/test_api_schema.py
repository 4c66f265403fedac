"""What the OpenAPI document promises is held, whatever is sent: generated from the document itself."""

from __future__ import annotations

from unittest import SkipTest

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.api import CLIP, OPERATOR, PHOTO, Api, with_settings

pytestmark = pytest.mark.service

EXAMPLES = 25
"""Of each route; the same ones each time."""
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]

BOUNDED = settings(
    max_examples=EXAMPLES, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


OPERATIONS = [
    ("POST", "/v1/assets"),
    ("GET", "/v1/assets"),
    ("GET", "/v1/assets/{asset_id}"),
    ("DELETE", "/v1/assets/{asset_id}"),
    ("POST", "/v1/jobs"),
    ("GET", "/v1/jobs"),
    ("GET", "/v1/jobs/{job_id}"),
    ("DELETE", "/v1/jobs/{job_id}"),
    ("GET", "/v1/jobs/{job_id}/result"),
    ("HEAD", "/v1/jobs/{job_id}/result"),
    ("GET", "/v1/jobs/{job_id}/events"),
    ("GET", "/v1/capabilities"),
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/metrics"),
]


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    return Api(tmp_path_factory.mktemp("api"), with_settings(requests_per_minute=0, waiting_jobs_limit=10**6))


@pytest.fixture(scope="module")
def document(api):
    return schemathesis.openapi.from_asgi("/openapi.json", api.app)


def try_all(document, method, path, prepare=lambda case: None):
    """Send what the document allows to a route, and what it does not."""

    @BOUNDED
    @given(document[path][method].as_strategy())
    def send(case):
        prepare(case)
        answer = case.call(headers={**(case.headers or {}), **OPERATOR})
        case.validate_response(answer, checks=CHECKS)

    @BOUNDED
    @given(document[path][method].as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE))
    def send_what_is_not_allowed(case):
        prepare(case)
        answer = case.call(headers={**(case.headers or {}), **OPERATOR})
        case.validate_response(answer, checks=CHECKS)

    send()
    try:
        send_what_is_not_allowed()
    except (Unsatisfiable, SkipTest):  # of a route that takes nothing, everything is allowed
        assert "{" not in path


def test_all_routes_are_tried(document):
    found = {(result.ok().method.upper(), result.ok().path) for result in document.get_all_operations()}
    assert found == set(OPERATIONS)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_whatever_is_sent_is_answered_as_the_document_says(document, method, path):
    try_all(document, method, path)


@pytest.mark.parametrize(("method", "path"), [one for one in OPERATIONS if "{" in one[1]])
def test_what_is_sent_to_things_that_are_there_is_too(api, document, method, path):
    def prepare(case):
        if "asset_id" in case.path_parameters:
            case.path_parameters["asset_id"] = api.upload(CLIP, OPERATOR)
        else:
            case.path_parameters["job_id"] = job = api.job(OPERATOR)
            if case.method != "DELETE":
                api.complete(job)

    try_all(document, method, path, prepare)


def test_any_settings_of_a_step_make_a_job_or_are_refused(api, document):
    def prepare(case):
        if isinstance(case.body, dict):
            case.body["target"] = api.upload(CLIP, OPERATOR)
            case.body["sources"] = [api.upload(PHOTO, OPERATOR)]

    try_all(document, "POST", "/v1/jobs", prepare)
    assert len(api.queue.list(None, limit=10**6, before=None)) > EXAMPLES // 2
