"""What the service says about itself."""

import json
import re

import pytest

from facefusion import __version__
from facefusion.service.errors import ServiceUnavailableError
from tests.service.api import SUBMITTER, Api

pytestmark = pytest.mark.service


@pytest.fixture
def api(tmp_path):
    return Api(tmp_path)


def test_capabilities_say_what_may_be_chosen(api):
    body = api.client.get("/v1/capabilities", headers=SUBMITTER).json()
    assert body["version"] == __version__
    assert "face_swapper" in body["processors"]
    assert {".mp4", ".png", ".gif"} <= set(body["targets"])
    assert (body["upload_limit"], body["subject_quota"], body["retention_hours"]) == (4 * 10**9, 20 * 10**9, 24.0)
    assert body["step"] == api.service.rules.json_schema()


def test_health(api):
    assert api.client.get("/health/live").json() == {"status": "alive", "checks": {}}
    ready = api.client.get("/health/ready")
    assert (ready.status_code, ready.json()) == (
        200,
        {"status": "ready", "checks": {"queue": "ok", "storage": "ok"}},
    )


def test_a_service_that_lacks_something_is_not_ready(api, monkeypatch):
    def fail():
        raise ServiceUnavailableError("Redis at 10.0.0.4 cannot be used")

    monkeypatch.setattr(api.queue, "waiting", fail)
    answer = api.client.get("/health/ready")
    assert answer.status_code == 503
    assert answer.json() == {"status": "not ready", "checks": {"queue": "cannot be used", "storage": "ok"}}


def test_metrics(api):
    answer = api.client.get("/metrics", headers=SUBMITTER)
    assert (answer.text, answer.headers["content-type"]) == ("jobs 1\n", "text/plain; version=0.0.4")


def test_answers_are_observed_by_route_and_never_by_path(api):
    api.client.get(f"/v1/jobs/{'0' * 32}", headers=SUBMITTER)
    api.client.get("/health/live")
    api.client.get("/wp-login.php")
    assert api.observed == [("GET", "/v1/jobs/{job_id}", 404), ("GET", "/health/live", 200), ("GET", "", 404)]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("PUT", "/v1/jobs", 405), ("GET", "/v1/jobs/", 404), ("GET", "//etc/passwd", 404)],
)
def test_addresses_that_lead_nowhere_are_problems(api, method, path, status):
    answer = api.client.request(method, f"{api.base_url}{path}", headers=SUBMITTER)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status


def test_every_answer_has_the_headers_that_keep_browsers_from_harm(api):
    for path in ("/docs", "/health/live", "/nothing", "/v1/jobs"):
        headers = api.client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


def test_the_page_documents_every_route_and_loads_nothing(api):
    answer = api.client.get("/docs")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    for path in api.app.openapi()["paths"]:
        assert f"<code>{path}</code>" in answer.text
    assert "face_detector_score" in answer.text
    assert re.findall(r"<script|src=|https?://(?!127\.0\.0\.1)", answer.text) == []


def test_the_document_tells_errors_as_problems(api):
    document = api.client.get("/openapi.json").json()
    text = json.dumps(document)
    assert "HTTPValidationError" not in text
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            for status, answer in operation["responses"].items():
                if int(status) >= 400 and status != "416" and path != "/health/ready":
                    assert list(answer["content"]) == ["application/problem+json"], (verb, path, status)
            assert ("401" in operation["responses"]) == ("security" in operation)
    step = document["components"]["schemas"]["JobRequest"]["properties"]["step"]
    assert step["properties"]["face_detector_score"]["maximum"] == 1.0
    assert document["components"]["schemas"]["JobRequest"]["examples"]


def test_what_has_expired_is_swept_while_the_service_runs(api):
    api.upload(b"clip of somebody")
    api.clock.now += 25 * 3600
    with api.client:  # which has it begin and end
        for _ in range(200):
            if not api.files.assets(None):
                break
            api.client.get("/health/live")
    assert api.files.assets(None) == []
