"""Jobs, as clients ask for them."""

import hashlib

import pytest

from facefusion.service.records import Fault, JobState, Progress
from tests.service.api import CLIP, GIGABYTE, OTHER, PHOTO, RESULT, SOUND, SUBMITTER, Api, with_settings

pytestmark = pytest.mark.service


@pytest.fixture
def api(tmp_path):
    return Api(tmp_path)


def shown(api, job):
    answer = api.client.get(f"/v1/jobs/{job}", headers=SUBMITTER)
    assert answer.status_code == 200
    return answer.json()


def test_a_job_is_queued_with_the_settings_of_a_job_file(api):
    target, photo, sound = api.upload(CLIP), api.upload(PHOTO), api.upload(SOUND)
    answer = api.submit(
        target=target,
        sources=[photo, sound],
        step={"processors": ["face_swapper", "face_enhancer"], "face_selector_mode": "one"},
        priority="high",
    )
    assert answer.status_code == 201
    body = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{body['id']}"
    assert (body["state"], body["priority"], body["target"]) == ("queued", "high", target)
    assert body["sources"] == [photo, sound]
    assert body["step"]["processors"] == ["face_swapper", "face_enhancer"]
    assert body["step"]["face_selector_mode"] == "one"
    assert body["extension"] == ".mp4"
    job = api.queue.find(body["id"])
    assert (job.owner, job.state, job.sources) == ("user:ann", JobState.QUEUED, (photo, sound))
    assert not {"target_path", "source_paths", "output_path"} & job.step.keys()


@pytest.mark.parametrize(
    ("step", "fields"),
    [
        ({"face_detector_score": 7}, ["step.face_detector_score"]),
        ({"face_detector_score": "x", "processors": ["nonsense"]}, ["step.face_detector_score", "step.processors"]),
        ({"output_path": "/etc/passwd"}, ["step.output_path"]),
        ({"source_paths": ["/etc/passwd"]}, ["step.source_paths"]),
        ({"face_map": ["a=b"]}, ["step.face_map"]),
        ({"content_analyser_model": "auto"}, ["step.content_analyser_model"]),
        ({"execution_providers": ["cuda"]}, ["step.execution_providers"]),
        ({"nonsense": None}, ["step.nonsense"]),
        ({"face_mask_padding": {"a": [1]}}, ["step.face_mask_padding"]),
    ],
)
def test_fields_that_are_wrong_are_named(api, step, fields):
    answer = api.submit(step=step)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert [one["field"] for one in answer.json()["errors"]] == fields
    assert api.queue.list(None, limit=9, before=None) == []


def test_a_text_that_is_none_comes_back_in_ascii(api):
    body = b'{"target": "%s", "step": {"processors": "\\ud800", "x\\udfff": 1}}' % api.upload(CLIP).encode()
    answer = api.client.post("/v1/jobs", content=body, headers={**SUBMITTER, "Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.content.isascii()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"target": "0" * 32}, "target"),
        ({"target": "../x"}, "target"),
        ({"target": None}, "target"),
        ({"sources": ["0" * 32]}, "sources.0"),
        ({"sources": "x"}, "sources"),
        ({"sources": ["0" * 32] * 65}, "sources"),
        ({"priority": "urgent"}, "priority"),
        ({"extension": "mp4"}, "extension"),
        ({"extension": ".exe"}, "extension"),
        ({"extension": ".jpg"}, "extension"),
        ({"extension": "./../x.mp4"}, "extension"),
        ({"callback": "http://evil.example"}, "callback"),
        ({"step": []}, "step"),
    ],
)
def test_what_the_request_itself_gets_wrong_is_named(api, change, field):
    answer = api.submit(**{"target": api.upload(CLIP), **change})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


def test_a_body_that_is_no_json_is_refused(api):
    for body in (b"", b"{", b"[]", b"\xff", b'{"target": ' + b"9" * 5000 + b"}", b"[" * 60_000):
        answer = api.client.post("/v1/jobs", content=body, headers={**SUBMITTER, "Content-Type": "application/json"})
        assert answer.status_code in (400, 422)
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_body_without_end_is_refused(api):
    answer = api.client.post("/v1/jobs", content=b" " * ((1 << 16) + 1), headers=SUBMITTER)
    assert answer.status_code == 413
    answer = api.client.post("/v1/jobs", content=(bytes(1 << 12) for _ in range(17)), headers=SUBMITTER)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("step", "field"),
    [
        ({f"key{number}": 1 for number in range(257)}, "step"),
        ({"k" * 60_000: 1}, f"step.{'k' * 60_000}.[key]"),
        ({"processors": ["face_swapper"] * 65}, "step.processors"),
        ({"processors": ["x" * 60_000]}, "step.processors"),
    ],
)
def test_what_is_asked_for_and_answered_is_bounded(api, step, field):
    answer = api.submit(step=step)
    assert answer.status_code == 422
    assert [one["field"] for one in answer.json()["errors"]] == [field]
    assert len(answer.content) < 1 << 18


def test_a_list_may_be_as_long_as_the_document_says(api):
    most = api.service.rules.json_schema()["properties"]["processors"]["maxItems"]
    assert api.submit(step={"processors": ["face_debugger"] * most}).status_code == 201


def test_sound_is_no_target_and_a_video_no_source(api):
    clip, sound = api.upload(CLIP), api.upload(SOUND)
    (fault,) = api.submit(target=sound).json()["errors"]
    assert fault == {"field": "target", "detail": f"the asset {sound} is of audio/wav: it must be image or video."}
    (fault,) = api.submit(target=clip, sources=[clip]).json()["errors"]
    assert fault == {"field": "sources.0", "detail": f"the asset {clip} is of video/mp4: it must be image or audio."}


@pytest.mark.parametrize(
    ("data", "extension", "status"),
    [(CLIP, ".mkv", 201), (CLIP, ".gif", 201), (PHOTO, ".png", 201), (PHOTO, ".mp4", 422), (b"anim", ".mp4", 201)],
)
def test_a_result_has_a_format_that_holds_it(api, data, extension, status):
    answer = api.submit(target=api.upload(data), extension=extension)
    assert answer.status_code == status
    if status == 201:
        assert answer.json()["extension"] == extension


def test_an_asset_whose_time_is_over_makes_no_job(api):
    target = api.upload(CLIP)
    api.clock.now += 24 * 3600
    assert api.submit(target=target).json()["errors"][0]["field"] == "target"


def test_one_key_queues_one_job(api):
    body = {"target": api.upload(CLIP), "sources": [api.upload(PHOTO)]}
    first = api.submit(headers={"Idempotency-Key": "k1"}, **body)
    again = api.submit(headers={"Idempotency-Key": "k1"}, **body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    other = api.submit(headers={"Idempotency-Key": "k1"}, **{**body, "priority": "low"})
    assert other.status_code == 409
    assert other.json()["type"] == "urn:facefusion:problem:conflict"
    assert api.submit(headers={"Idempotency-Key": "k2"}, **body).status_code == 201
    assert len(api.queue.list(None, limit=9, before=None)) == 2


@pytest.mark.parametrize("key", ["", "x" * 201, "a b", "ä".encode("latin-1")])
def test_a_key_is_a_short_word(api, key):
    answer = api.submit(target=api.upload(CLIP), headers={"Idempotency-Key": key})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "idempotency-key"


def test_a_full_queue_is_429(tmp_path):
    api = Api(tmp_path, with_settings(waiting_jobs_limit=1))
    api.job()
    answer = api.submit()
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "60"
    assert answer.json()["type"] == "urn:facefusion:problem:queue-full"
    assert api.audited()[-1]["outcome"] == "queue-full"


def test_a_full_disk_is_507(api):
    target, photo = api.upload(CLIP), api.upload(PHOTO)
    api.files.free = GIGABYTE
    assert api.submit(target=target, sources=[photo]).status_code == 507


def test_a_job_is_shown_as_it_goes_on(api):
    job = api.job()
    api.queue.take(0)
    api.queue.advance(job, Progress(done=30, total=120, rate=15.0, segments_done=1, segments=4))
    body = shown(api, job)
    assert (body["state"], body["started"]) == ("running", api.clock())
    assert body["progress"] == {
        "frames_done": 30,
        "frames_total": 120,
        "frames_per_second": 15.0,
        "seconds_left": 6.0,
        "segments_done": 1,
        "segments_total": 4,
    }


def test_a_job_that_was_refused_says_why(api):
    job = api.job()
    api.queue.take(0)
    api.queue.finish(job, JobState.REJECTED, fault=Fault("not this", "Choose another.", "ContentRefusedError"))
    body = shown(api, job)
    assert body["state"] == "rejected"
    assert body["fault"] == {"kind": "ContentRefusedError", "fault": "not this", "remedy": "Choose another."}
    assert api.client.get(f"/v1/jobs/{job}/result", headers=SUBMITTER).status_code == 404


def test_jobs_are_listed_in_pages(api):
    body = {"target": api.upload(CLIP)}
    jobs = [api.submit(**body).json()["id"] for _ in range(5)][::-1]
    found, before = [], None
    for _ in range(3):
        query = {"limit": 2, **({"before": before} if before else {})}
        page = api.client.get("/v1/jobs", params=query, headers=SUBMITTER).json()
        found += [job["id"] for job in page["jobs"]]
        before = page["next"]
    assert (found, before) == (jobs, None)


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 201}, {"limit": "x"}, {"before": "../x"}])
def test_pages_are_bounded(api, query):
    answer = api.client.get("/v1/jobs", params=query, headers=SUBMITTER)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == next(iter(query))


def test_deleting_cancels_and_then_erases(api):
    job = api.job()
    answer = api.client.delete(f"/v1/jobs/{job}", headers=SUBMITTER)
    assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    assert api.client.delete(f"/v1/jobs/{job}", headers=SUBMITTER).status_code == 204
    assert api.client.delete(f"/v1/jobs/{job}", headers=SUBMITTER).status_code == 404
    assert [(line["action"], line["outcome"]) for line in api.audited()[-5:]] == [
        ("cancel", "begun"),
        ("cancel", "done"),
        ("erase job", "begun"),
        ("erase job", "done"),
        ("cancel", "not-found"),
    ]


def test_erasing_a_job_erases_its_result_at_once(api):
    job = api.job()
    api.complete(job)
    assert api.client.delete(f"/v1/jobs/{job}", headers=SUBMITTER).status_code == 204
    assert api.files.erased == [job]
    assert not [path for path in (api.folder / "files").iterdir() if path.name.startswith(job)]


def test_a_result_is_fetched_whole_and_in_parts(api):
    job = api.job()
    assert api.client.get(f"/v1/jobs/{job}/result", headers=SUBMITTER).status_code == 409
    api.complete(job)
    digest = hashlib.sha256(RESULT).hexdigest()
    body = shown(api, job)
    assert body["result"] == {
        "href": f"/v1/jobs/{job}/result",
        "sha256": digest,
        "size": len(RESULT),
        "media_type": "video/mp4",
        "expires": api.clock() + 3600,
    }
    assert body["report"] == {"frames": 12}
    whole = api.client.get(f"/v1/jobs/{job}/result", headers=SUBMITTER)
    assert (whole.status_code, whole.content) == (200, RESULT)
    assert whole.headers["content-type"] == "video/mp4"
    assert whole.headers["content-disposition"] == f'attachment; filename="{job}.mp4"'
    assert whole.headers["etag"] == f'"{digest}"'
    assert whole.headers["accept-ranges"] == "bytes"
    assert whole.headers["x-content-type-options"] == "nosniff"
    for wanted, part in (("bytes=0-9", RESULT[:10]), ("bytes=1000-", RESULT[1000:]), ("bytes=-5", RESULT[-5:])):
        answer = api.client.get(f"/v1/jobs/{job}/result", headers={**SUBMITTER, "Range": wanted})
        assert (answer.status_code, answer.content) == (206, part)
    stale = api.client.get(f"/v1/jobs/{job}/result", headers={**SUBMITTER, "Range": "bytes=0-9", "If-Range": '"other"'})
    assert (stale.status_code, stale.content) == (200, RESULT)
    beyond = api.client.get(f"/v1/jobs/{job}/result", headers={**SUBMITTER, "Range": f"bytes={len(RESULT)}-"})
    assert beyond.status_code == 416
    for wanted in ("bytes=5-1", "bytes=a-b", "bytes=-", "bytes=", "items=0-1", f"bytes=0-{'9' * 5000}", "bytes=0-1;"):
        answer = api.client.get(f"/v1/jobs/{job}/result", headers={**SUBMITTER, "Range": wanted})
        assert (answer.status_code, answer.content) == (200, RESULT), wanted
    line = api.audited()[-1]
    assert (line["action"], line["job"], line["sha256"]) == ("fetch result", job, [digest])


def test_what_fetching_a_result_would_give_is_told_without_fetching_it(api):
    job = api.job()
    assert api.client.head(f"/v1/jobs/{job}/result", headers=SUBMITTER).status_code == 409
    api.complete(job)
    whole = api.client.get(f"/v1/jobs/{job}/result", headers=SUBMITTER)
    fetched = len([line for line in api.audited() if line["action"] == "fetch result"])
    told = api.client.head(f"/v1/jobs/{job}/result", headers={**SUBMITTER, "Range": "bytes=0-9"})
    assert (told.status_code, told.content) == (200, b"")
    assert told.headers["content-length"] == str(len(RESULT))
    assert told.headers == whole.headers
    assert len([line for line in api.audited() if line["action"] == "fetch result"]) == fetched
    assert api.client.head(f"/v1/jobs/{job}/result", headers=OTHER).status_code == 404
    assert api.client.head(f"/v1/jobs/{job}/result").status_code == 401


def test_whether_a_job_or_an_asset_is_there_can_be_asked(api):
    job, asset = api.job(), api.upload(CLIP)
    for path in (f"/v1/jobs/{job}", f"/v1/assets/{asset}"):
        assert api.client.head(path, headers=SUBMITTER).status_code == 200
        assert api.client.head(path, headers=OTHER).status_code == 404
    assert api.client.head("/health/live").status_code == 200
    assert api.client.head("/health/ready").status_code == 200


def test_a_result_that_is_erased_while_it_is_asked_for_is_gone(api, monkeypatch):
    job = api.job()
    api.complete(job)
    opened = api.files.open_result

    def opened_and_erased(job_id, result):
        file = opened(job_id, result)
        api.files.erase_job(job_id)
        return file

    monkeypatch.setattr(api.files, "open_result", opened_and_erased)
    answer = api.client.get(f"/v1/jobs/{job}/result", headers=SUBMITTER)
    assert (answer.status_code, answer.json()["fault"]) == (404, "the result is not there any more")


def test_a_result_that_expired_is_gone(api):
    job = api.job()
    api.complete(job)
    api.clock.now += 3600
    answer = api.client.get(f"/v1/jobs/{job}/result", headers=SUBMITTER)
    assert (answer.status_code, answer.json()["fault"]) == (404, "the result has expired")


def test_the_audit_names_jobs_and_hashes_of_what_they_use(api):
    job = api.job()
    line = api.audited()[-1]
    hashes = [hashlib.sha256(data).hexdigest() for data in (CLIP, PHOTO)]
    assert (line["action"], line["job"], line["sha256"]) == ("submit", job, hashes)


def test_settings_of_the_operators_hold_where_nothing_is_chosen(tmp_path):
    api = Api(tmp_path, values={"output_video_quality": 42})
    assert api.submit().json()["step"]["output_video_quality"] == 42


def test_what_the_operator_offers_can_be_chosen(tmp_path):
    api = Api(tmp_path, with_settings(client_options=("content_analyser_model",)))
    assert api.submit(step={"content_analyser_model": "auto"}).status_code == 201


def test_a_job_that_cannot_be_recorded_is_not_queued(api):
    target, photo = api.upload(CLIP), api.upload(PHOTO)
    api.audit_path.unlink()
    api.audit_path.mkdir()
    assert api.submit(target=target, sources=[photo]).status_code == 503
    assert api.queue.list(None, limit=9, before=None) == []


def test_a_job_that_is_queued_is_answered_though_its_end_cannot_be_recorded(api, monkeypatch, caplog):
    target, photo = api.upload(CLIP), api.upload(PHOTO)
    submit = api.queue.submit

    def submit_and_fill_the_disk(*words, **options):
        api.audit_path.unlink()
        api.audit_path.mkdir()
        return submit(*words, **options)

    monkeypatch.setattr(api.queue, "submit", submit_and_fill_the_disk)
    answer = api.submit(target=target, sources=[photo])
    assert answer.status_code == 201
    assert api.queue.find(answer.json()["id"]).state is JobState.QUEUED
    assert "how something ended is missing in the audit log: submit done" in caplog.text
