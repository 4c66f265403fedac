"""Uploads, as clients send them."""

import asyncio
import contextlib
import hashlib
import json

import pytest

from facefusion.service.api import assets
from facefusion.service.api.service import MOST_UPLOADS
from tests.service.api import CLIP, GIGABYTE, OTHER, PHOTO, SUBMITTER, Api, with_settings

pytestmark = pytest.mark.service

NAMES = ["../../../../etc/passwd", "C:\\windows\\x.mp4", "a\0b.mp4", "clip of ann.mp4", "x" * 5000, "/abs.mp4", ".", ""]


@pytest.fixture
def api(tmp_path):
    return Api(tmp_path)


def test_an_upload_is_what_its_content_says(api):
    answer = api.client.post("/v1/assets", content=CLIP, headers={**SUBMITTER, "Content-Type": "image/png"})
    assert answer.status_code == 201
    body = answer.json()
    assert body == {
        "id": body["id"],
        "sha256": hashlib.sha256(CLIP).hexdigest(),
        "size": len(CLIP),
        "media_type": "video/mp4",
        "created": api.clock(),
        "expires": api.clock() + 24 * 3600,
        "width": 640,
        "height": 360,
        "frames": 90,
        "duration": 3.0,
    }
    assert answer.headers["location"] == f"/v1/assets/{body['id']}"
    assert api.client.get(answer.headers["location"], headers=SUBMITTER).json() == body
    assert api.files.asset(body["id"]).owner == "user:ann"


def test_a_form_is_taken_too(api):
    answer = api.client.post(
        "/v1/assets", files={"file": ("clip.mp4", CLIP, "video/mp4")}, data={"note": "x"}, headers=SUBMITTER
    )
    assert answer.status_code == 201
    assert answer.json()["sha256"] == hashlib.sha256(CLIP).hexdigest()


@pytest.mark.parametrize("name", NAMES)
def test_a_files_name_goes_nowhere(api, name):
    body = (
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="'
        + name.encode()
        + b'"\r\n\r\n'
        + CLIP
        + b"\r\n--b--\r\n"
    )
    answer = api.client.post(
        "/v1/assets", content=body, headers={**SUBMITTER, "Content-Type": "multipart/form-data; boundary=b"}
    )
    assert answer.status_code in (201, 422)
    if len(name) > 2:
        assert name not in answer.text
        assert name not in api.audit_path.read_text()
    everything = [path.relative_to(api.folder) for path in api.folder.rglob("*") if path.is_file()]
    kept = {asset.id for asset in api.files.assets(None)}
    assert {path.name for path in everything} - kept == {"audit.jsonl"}


def test_what_is_no_media_is_refused_and_leaves_nothing(api):
    for data in (b"", b"text", b"#EXTM3U\nhttp://evil.example/x"):
        answer = api.client.post("/v1/assets", content=data, headers=SUBMITTER)
        assert answer.status_code == 415
        assert answer.json()["type"] == "urn:facefusion:problem:unsupported-media"
    assert api.files.assets(None) == []
    assert list(api.parts.iterdir()) == []


@pytest.mark.parametrize(
    ("content_type", "body", "fault"),
    [
        ("multipart/form-data", b"x", "the form names no boundary"),
        ("multipart/form-data; boundary=b", b"x", "the form cannot be read"),
        ("multipart/form-data; boundary=b", b"--b--\r\n", "the form has no field 'file'"),
        (
            "multipart/form-data; boundary=b",
            b'--b\r\nContent-Disposition: form-data; name="file"\r\n\r\n' + CLIP,
            "the form breaks off",
        ),
    ],
)
def test_forms_that_are_none_are_refused(api, content_type, body, fault):
    answer = api.client.post("/v1/assets", content=body, headers={**SUBMITTER, "Content-Type": content_type})
    assert answer.status_code == 422
    assert answer.json()["fault"].startswith(fault)
    assert list(api.parts.iterdir()) == []


@pytest.fixture
def small(tmp_path):
    return Api(tmp_path, with_settings(upload_limit=1e-6 * 3, subject_quota=1e-6 * 5))


def pieces(count, sent):
    for number in range(count):
        sent.append(number)
        yield CLIP + bytes(1000 - len(CLIP)) if number == 0 else bytes(1000)


def test_one_that_is_too_large_is_refused_while_it_comes(small, monkeypatch):
    monkeypatch.setattr(assets, "BLOCK", 1000)
    assert small.client.post("/v1/assets", content=pieces(3, []), headers=SUBMITTER).status_code == 201
    answer = small.client.post("/v1/assets", content=pieces(4, []), headers=SUBMITTER)
    assert answer.status_code == 413
    assert answer.json()["fault"] == "the upload is larger than 3.0 kB"
    assert list(small.parts.iterdir()) == []


def test_one_that_says_it_is_too_large_is_not_read(small):
    answer = small.client.post("/v1/assets", content=bytes(3001), headers=SUBMITTER)
    assert answer.status_code == 413


def test_a_lie_about_the_length_is_found_out(small):
    answer = small.client.post("/v1/assets", content=pieces(4, []), headers={**SUBMITTER, "Content-Length": "nonsense"})
    assert answer.status_code == 413


def test_all_of_one_user_is_limited(small):
    small.upload(CLIP + bytes(2900))
    answer = small.client.post("/v1/assets", content=CLIP + bytes(2900), headers=SUBMITTER)
    assert answer.status_code == 413
    assert answer.json()["fault"] == "more than 5.0 kB would be kept for you"


def test_results_count_too_until_their_job_is_erased(small):
    job = small.job()
    small.complete(job, bytes(4990))
    answer = small.client.post("/v1/assets", content=PHOTO, headers=SUBMITTER)
    assert (answer.status_code, answer.json()["fault"]) == (413, "more than 5.0 kB would be kept for you")
    target, source = (asset.id for asset in small.files.assets("user:ann"))
    answer = small.submit(target=target, sources=[source])
    assert (answer.status_code, answer.json()["fault"]) == (413, "more than 5.0 kB would be kept for you")
    assert small.client.delete(f"/v1/jobs/{job}", headers=SUBMITTER).status_code == 204
    assert small.submit(target=target, sources=[source]).status_code == 201


def test_assets_are_listed_page_by_page(api):
    def page(**asked):
        return api.client.get("/v1/assets", params=asked, headers=SUBMITTER).json()

    ids: list[str] = []
    for _ in range(5):
        api.clock.now += 1
        ids.insert(0, api.upload(CLIP))
    first = page(limit=2)
    second = page(limit=2, before=first["next"])
    last = page(limit=2, before=second["next"])
    assert [[asset["id"] for asset in one["assets"]] for one in (first, second, last)] == [ids[:2], ids[2:4], ids[4:]]
    assert last["next"] is None
    gone = api.client.get("/v1/assets", params={"before": "0" * 32}, headers=SUBMITTER)
    assert gone.status_code == 404
    assert api.client.get("/v1/assets", params={"limit": 1001}, headers=SUBMITTER).status_code == 422
    assert api.client.get("/v1/assets", params={"before": ids[0]}, headers=OTHER).status_code == 404


def test_a_full_disk_is_507(api):
    api.files.free = GIGABYTE
    answer = api.client.post("/v1/assets", content=CLIP, headers=SUBMITTER)
    assert answer.status_code == 507
    assert answer.headers["retry-after"] == "60"
    assert answer.json()["fault"] == "there is no room for more files"


def test_assets_are_listed_the_newest_first_until_they_expire(api):
    first = api.upload(CLIP)
    api.clock.now += 3600
    second = api.upload(PHOTO)
    listed = api.client.get("/v1/assets", headers=SUBMITTER).json()["assets"]
    assert [asset["id"] for asset in listed] == [second, first]
    api.clock.now += 23 * 3600
    listed = api.client.get("/v1/assets", headers=SUBMITTER).json()["assets"]
    assert [asset["id"] for asset in listed] == [second]
    assert api.client.get(f"/v1/assets/{first}", headers=SUBMITTER).status_code == 404


def test_an_asset_is_erased_at_once(api):
    asset = api.upload(CLIP)
    assert api.client.delete(f"/v1/assets/{asset}", headers=SUBMITTER).status_code == 204
    assert api.client.delete(f"/v1/assets/{asset}", headers=SUBMITTER).status_code == 404
    assert api.files.erased == [asset]
    assert list((api.folder / "files").iterdir()) == []


def test_an_asset_that_a_job_uses_stays(api):
    job = api.job()
    target = api.queue.find(job).target
    answer = api.client.delete(f"/v1/assets/{target}", headers=SUBMITTER)
    assert answer.status_code == 409
    assert answer.json()["fault"] == "a job uses the asset"
    api.client.delete(f"/v1/jobs/{job}", headers=SUBMITTER)
    assert api.client.delete(f"/v1/assets/{target}", headers=SUBMITTER).status_code == 204


@pytest.mark.parametrize("asset", ["..%2f..%2fetc%2fpasswd", "%2e%2e", "A" * 32, "0" * 31, "0" * 33, "%00", "x" * 9000])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_what_is_no_id_is_not_there_and_no_store_is_asked(api, asset, method, monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(api.files, "asset", fail)
    answer = api.client.request(method, f"/v1/assets/{asset}", headers=SUBMITTER)
    assert answer.status_code in (404, 405)  # a path that ends above is the list's


def test_the_audit_names_hashes_and_no_names(api):
    api.client.post("/v1/assets", files={"file": ("ann at home.mp4", CLIP)}, headers=SUBMITTER)
    api.client.post("/v1/assets", files={"file": ("ann at work.txt", b"text")}, headers=SUBMITTER)
    asset = api.files.assets(None)[0]
    api.client.delete(f"/v1/assets/{asset.id}", headers=SUBMITTER)
    digest = [hashlib.sha256(CLIP).hexdigest()]
    wanted = [
        ("upload", "done", digest),
        ("upload", "unsupported-media", [hashlib.sha256(b"text").hexdigest()]),
        ("erase asset", "done", digest),
    ]
    lines = [line for line in api.audited() if line["outcome"] != "begun"]
    assert [(line["action"], line["outcome"], line.get("sha256")) for line in lines] == wanted
    assert {(line["subject"], line["address"]) for line in lines} == {("user:ann", "203.0.113.7")}
    assert "ann at" not in api.audit_path.read_text()


def test_what_cannot_be_recorded_is_an_error(api):
    api.audit_path.mkdir()
    answer = api.client.post("/v1/assets", content=CLIP, headers=SUBMITTER)
    assert answer.status_code == 503
    assert str(api.folder) not in answer.text


def ask(api, receive):
    """Send an upload by hand; what is answered."""
    headers = [(b"authorization", SUBMITTER["Authorization"].encode())]
    scope = {"type": "http", "http_version": "1.1", "method": "POST", "path": "/v1/assets", "raw_path": b"/v1/assets",
             "query_string": b"", "headers": headers, "client": ("203.0.113.7", 1), "server": ("h", 1),
             "scheme": "http", "root_path": ""}  # fmt: skip
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(api.app(scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


@pytest.mark.parametrize("end", ["breaks off", "stalls"])
def test_an_upload_that_does_not_come_to_its_end_leaves_nothing(api, end, monkeypatch):
    monkeypatch.setattr(assets, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(assets, "BLOCK", 1)
    monkeypatch.setattr(assets, "LEAST_BYTES", 1)
    messages = iter([{"type": "http.request", "body": CLIP, "more_body": True}])

    async def receive():
        if (message := next(messages, None)) is not None:
            return message
        if end == "stalls":
            assert len(list(api.parts.iterdir())) == 1
            await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    status, body = ask(api, receive)
    assert (status, body["fault"]) == (408, "the upload broke off")
    assert list(api.parts.iterdir()) == []
    assert api.files.assets(None) == []
    assert api.audited()[-1]["outcome"] == "stalled"


def test_what_was_not_expected_is_told_as_an_id(api, monkeypatch):
    def fail(part, asset):
        raise RuntimeError("/srv/secret/path")

    monkeypatch.setattr(api.files, "add", fail)
    answer = api.client.post("/v1/assets", content=CLIP, headers=SUBMITTER)
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "secret" not in answer.text
    assert api.audited()[-1]["outcome"] == "internal"
    assert list(api.parts.iterdir()) == []


def test_an_upload_that_trickles_is_given_up(api, monkeypatch):
    monkeypatch.setattr(assets, "IDLE_SECONDS", 0.3)

    async def receive():
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"x", "more_body": True}

    status, body = ask(api, receive)
    assert (status, body["fault"]) == (408, "the upload broke off")
    assert list(api.parts.iterdir()) == []


def test_uploads_of_one_user_at_a_time_are_limited(api):
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_UPLOADS):
            stack.enter_context(api.service.streams.uploading("user:ann"))
        answer = api.client.post("/v1/assets", content=CLIP, headers=SUBMITTER)
        assert (answer.status_code, answer.json()["fault"]) == (429, f"you send {MOST_UPLOADS} uploads already")
        assert api.client.post("/v1/assets", content=CLIP, headers=OTHER).status_code == 201
    api.upload(CLIP)
