"""Who gets in, and whose things they see."""

import pytest

from facefusion.service.environment import Secrets
from facefusion.service.errors import RateLimitError, ServiceUnavailableError
from facefusion.service.rates import RateLimits
from tests.service.api import CLIP, OPERATOR, OTHER, SUBMITTER, TOKEN, Api, bearer, token_of, with_settings

pytestmark = pytest.mark.service

READER = bearer(token_of("ann", "read"))
WRITER = bearer(token_of("ann", "submit"))
NOBODY = bearer(token_of("ann"))
ADMIN = bearer(token_of("root", "admin"))
EXPIRED = bearer(token_of("ann", "read", "submit", expires=-3600))
FORGED = bearer(token_of("ann", "admin", key="x" * 32))

ID = "0" * 32
READS = ["/v1/assets", f"/v1/assets/{ID}", "/v1/jobs", f"/v1/jobs/{ID}", f"/v1/jobs/{ID}/events",
         f"/v1/jobs/{ID}/result", "/v1/capabilities", "/metrics"]  # fmt: skip
WRITES = [("POST", "/v1/assets"), ("DELETE", f"/v1/assets/{ID}"), ("POST", "/v1/jobs"), ("DELETE", f"/v1/jobs/{ID}")]
OPEN = ["/health/live", "/health/ready", "/openapi.json", "/docs", "/"]


@pytest.fixture
def api(tmp_path):
    return Api(tmp_path)


def ask(api, method, path, who=None):
    body = {"json": {"target": ID}} if (method, path) == ("POST", "/v1/jobs") else {}
    return api.client.request(method, path, headers=who or {}, **body)


ALL = [("GET", path) for path in READS] + WRITES


@pytest.mark.parametrize(("method", "path"), ALL)
@pytest.mark.parametrize(
    "who", [{}, FORGED, EXPIRED, bearer("wrong"), {"Authorization": TOKEN}, {"Authorization": "Basic x"}]
)
def test_without_a_token_that_holds_nothing_is_done(api, method, path, who):
    answer = ask(api, method, path, who)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"] == 'Bearer realm="facefusion"'
    assert answer.json()["type"] == "urn:facefusion:problem:unauthorised"


@pytest.mark.parametrize(("method", "path"), ALL)
def test_a_scope_that_is_missing_is_said(api, method, path):
    needed = "read" if method == "GET" else "submit"
    for who in (NOBODY, WRITER if method == "GET" else READER):
        answer = ask(api, method, path, who)
        assert answer.status_code == 403
        assert answer.json()["fault"] == f"the token lacks the scope {needed}"


@pytest.mark.parametrize(("method", "path"), ALL)
def test_who_has_the_scope_gets_in(api, method, path):
    for who in (OPERATOR, ADMIN, READER if method == "GET" else WRITER):
        assert ask(api, method, path, who).status_code not in (401, 403, 500)


@pytest.mark.parametrize("path", OPEN)
def test_some_things_are_for_everybody(api, path):
    assert api.client.get(path).status_code == 200


def test_others_things_are_not_there(api):
    asset, job = api.upload(CLIP), api.job()
    api.complete(job)
    for method, path in [
        ("GET", f"/v1/assets/{asset}"),
        ("DELETE", f"/v1/assets/{asset}"),
        ("GET", f"/v1/jobs/{job}"),
        ("GET", f"/v1/jobs/{job}/events"),
        ("GET", f"/v1/jobs/{job}/result"),
        ("DELETE", f"/v1/jobs/{job}"),
    ]:
        foreign, missing = (ask(api, method, path.replace(asset, one).replace(job, one2), OTHER)
                            for one, one2 in ((asset, job), (ID, ID)))  # fmt: skip
        assert (foreign.status_code, foreign.json()) == (missing.status_code, missing.json())
        assert foreign.status_code == 404
    assert api.client.get("/v1/assets", headers=OTHER).json() == {"assets": [], "next": None}
    assert api.client.get("/v1/jobs", headers=OTHER).json() == {"jobs": [], "next": None}
    assert api.client.get(f"/v1/jobs/{job}", headers=SUBMITTER).status_code == 200


def test_nobody_makes_jobs_of_others_assets(api):
    answer = api.submit(OTHER, target=api.upload(CLIP), sources=[])
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "target"


def test_an_admin_sees_and_erases_others_things(api):
    asset = api.upload(CLIP)
    assert api.client.get(f"/v1/assets/{asset}", headers=ADMIN).status_code == 200
    assert api.client.delete(f"/v1/assets/{asset}", headers=ADMIN).status_code == 204


def test_an_admin_lists_everybodys_things_and_others_do_not(api):
    job = api.job()
    for path, name in (("/v1/assets", "assets"), ("/v1/jobs", "jobs")):
        assert api.client.get(path, headers=ADMIN).json()[name] == []
        everything = api.client.get(path, params={"everyone": True}, headers=ADMIN).json()[name]
        assert len(everything) == (2 if name == "assets" else 1)
        answer = api.client.get(path, params={"everyone": True}, headers=OTHER)
        assert (answer.status_code, answer.json()["fault"]) == (403, "the token lacks the scope admin")
    assert api.client.get("/v1/jobs?everyone=1", headers=OPERATOR).json()["jobs"][0]["id"] == job


def test_users_of_the_same_name_of_different_kinds_are_different(api):
    asset = api.upload(CLIP, OPERATOR)
    assert api.client.get(f"/v1/assets/{asset}", headers=bearer(token_of("operator", "read"))).status_code == 404


def test_requests_of_one_user_are_limited(tmp_path):
    api = Api(tmp_path, with_settings(requests_per_minute=3))
    answers = [api.client.get("/v1/jobs", headers=SUBMITTER) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["retry-after"] == "20"
    assert answers[-1].json()["fault"] == "you made more than 3 requests in a minute"
    assert api.client.get("/v1/jobs", headers=OTHER).status_code == 200


def test_requests_are_not_limited_where_the_operator_says_so(tmp_path):
    api = Api(tmp_path, with_settings(requests_per_minute=0))
    assert {api.client.get("/v1/jobs", headers=SUBMITTER).status_code for _ in range(700)} == {200}


def test_wrong_tokens_are_limited_and_right_ones_go_on(api):
    statuses = [api.client.get("/v1/jobs", headers=FORGED).status_code for _ in range(31)]
    assert statuses == [401] * 30 + [429]
    assert api.client.get("/v1/jobs", headers=SUBMITTER).status_code == 200
    assert [line["action"] for line in api.audited()] == ["authenticate"] * 30


def test_metrics_are_told_while_requests_cannot_be_counted(api, monkeypatch):
    def away(*_):
        raise ServiceUnavailableError("requests cannot be counted")

    monkeypatch.setattr(api.service.rates, "_hit", away)
    assert api.client.get("/v1/jobs", headers=SUBMITTER).status_code == 503
    assert api.client.get("/metrics", headers=SUBMITTER).status_code == 200
    assert api.client.get("/metrics", headers=WRITER).status_code == 403
    assert api.client.get("/metrics").status_code == 503  # a token could be guessed at otherwise


def test_metrics_are_limited_all_the_same(api):
    statuses = [api.client.get("/metrics", headers=SUBMITTER).status_code for _ in range(121)]
    assert statuses == [200] * 120 + [429]


def test_one_line_of_ipv6_is_one_address():
    rates = RateLimits(0, None)
    for number in range(30):
        rates.count_failure(f"2001:db8:0:1::{number:x}")
    with pytest.raises(RateLimitError):
        rates.count_failure("2001:db8:0:1:ffff::1")
    rates.count_failure("2001:db8:0:2::1")
    rates.count_failure("::ffff:203.0.113.1")
    rates.count_failure("")


def test_refusals_are_audited(api):
    api.client.get("/v1/jobs", headers=FORGED)
    api.client.get("/v1/jobs", headers=WRITER)
    assert [(line["subject"], line["address"], line["action"], line["outcome"]) for line in api.audited()] == [
        ("", "203.0.113.7", "authenticate", "unauthorised"),
        ("user:ann", "203.0.113.7", "use read", "forbidden"),
    ]


class TestWithoutAToken:
    @pytest.fixture
    def api(self, tmp_path):
        return Api(tmp_path, secrets=Secrets(), address="127.0.0.1")

    def test_the_machines_own_user_does_everything(self, api):
        job = api.job({})
        assert api.queue.find(job).owner == "local"

    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost:7860", "[::1]:7860", "[::1]", "127.0.0.1:80"])
    def test_it_answers_to_own_names(self, api, host):
        assert api.client.get("/v1/jobs", headers={"Host": host}).status_code == 200

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:7860", "127.0.0.1.evil.example", "", "10.0.0.4"])
    def test_a_page_that_gives_this_machine_a_name_of_its_own_is_refused(self, api, host):
        answer = api.client.get("/v1/jobs", headers={"Host": host})
        assert answer.status_code == 403
        assert answer.json()["fault"] == "without a token the service answers to this machine's own names only"

    def test_pages_of_other_sites_are_refused(self, api):
        for origin in ("https://evil.example", "null", "http://127.0.0.1:9999"):
            answer = api.client.post("/v1/assets", content=CLIP, headers={"Origin": origin})
            assert answer.status_code == 403
        own = api.client.post("/v1/assets", content=CLIP, headers={"Origin": "http://127.0.0.1:7860"})
        assert own.status_code == 201


def test_no_other_site_is_let_in(api):
    answer = api.client.get("/v1/jobs", headers={**SUBMITTER, "Origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    preflight = api.client.options(
        "/v1/jobs", headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    )
    assert preflight.status_code == 405
