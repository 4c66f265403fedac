"""A bucket of a real S3 server: what is there, what is not, and what happens while it is away."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import boto3
import obstore
import pytest
from obstore.exceptions import PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from facefusion.core.errors import SetupError
from facefusion.service import bucket as bucket_module
from facefusion.service.bucket import BLOCK, Bucket, open_bucket, reaching
from facefusion.service.errors import NotFoundError, ServiceUnavailableError
from tests.service.s3_server import BUCKET, VARIABLES, S3Server

pytestmark = pytest.mark.service


@pytest.fixture
def bucket(shared_s3: S3Server, request: pytest.FixtureRequest) -> Bucket:
    return opened(shared_s3, request.node.name)


def opened(server: S3Server, prefix: str, patience: float = 5.0) -> Bucket:
    return open_bucket(f"s3://{BUCKET}/{prefix}", server.variables, patience)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[S3Server]:
    """One that a test may send away."""
    server = S3Server(tmp_path)
    yield server
    server.end()


def large(folder: Path) -> Path:
    path = folder / "large"
    path.write_bytes(bytes(range(256)) * (BLOCK * 5 // 2 // 256))
    return path


def caught_by(ask: Callable[[], object]) -> BaseException:
    with pytest.raises(FileNotFoundError) as caught:
        ask()
    return caught.value


def test_what_is_put_is_there_until_it_is_deleted(bucket: Bucket) -> None:
    bucket.put("a/one", b"first")
    bucket.put("a/one", b"second")
    found = bucket.get("a/one")
    assert found is not None
    assert found[0] == b"second"
    bucket.put("b/two", b"x")
    assert [(each.key, each.size) for each in bucket.walk("")] == [("a/one", 6), ("b/two", 1)]
    assert [each.key for each in bucket.walk("a")] == ["a/one"]
    assert abs(next(bucket.walk("a")).changed - time.time()) < 60
    assert next(bucket.walk("a")).tag == found[1] != ""
    bucket.delete(["a/one", "never/there"])
    bucket.delete([])
    assert bucket.get("a/one") is None
    assert bucket.names("") == ["b"]


def test_a_prefix_is_a_whole_part_of_a_key(bucket: Bucket) -> None:
    for key in ("a/1/x", "a/1/y", "a/12/x", "ab/1/x"):
        bucket.put(key, b"")
    assert bucket.names("a") == ["1", "12"]
    assert [each.key for each in bucket.walk("a/1")] == ["a/1/x", "a/1/y"]


def test_a_large_file_goes_up_in_parts_and_comes_down_block_by_block(
    bucket: Bucket, shared_s3: S3Server, tmp_path: Path
) -> None:
    path = large(tmp_path)
    content = path.read_bytes()
    bucket.put_file("large", path)
    assert [line for line in shared_s3.requests if "partNumber=3" in line]
    assert [len(block) for block in bucket.read("large", 0, len(content))] == [BLOCK, BLOCK, BLOCK // 2]
    assert b"".join(bucket.read("large", BLOCK - 3, BLOCK * 2 + 3)) == content[BLOCK - 3 : BLOCK * 2 + 3]
    assert list(bucket.read("large", 7, 7)) == []
    copy = tmp_path / "copy"
    bucket.fetch("large", copy, size=len(content), sha256=sha256(content).hexdigest())
    assert copy.read_bytes() == content
    assert copy.stat().st_mode & 0o777 == 0o600


def test_what_is_not_there_is_said(bucket: Bucket, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="the file is not there any more"):
        list(bucket.read("nothing", 0, 5))
    with pytest.raises(NotFoundError):
        bucket.fetch("nothing", tmp_path / "copy", size=5)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_what_was_written_is_not_handed_out(
    bucket: Bucket, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bucket.put("one", b"other")
    with pytest.raises(ServiceUnavailableError, match="a file of the storage is damaged"):
        bucket.fetch("one", tmp_path / "copy", size=5, sha256=sha256(b"first").hexdigest())
    assert list(tmp_path.iterdir()) == []
    assert "one does not read back as it was written" in caplog.text


def test_a_storage_that_comes_back_in_time_was_never_away(own_server: S3Server, tmp_path: Path) -> None:
    bucket = opened(own_server, "x", patience=30)
    own_server.go_away()
    threading.Timer(1.0, own_server.come_back).start()
    bucket.put_file("one", large(tmp_path))
    assert [each.size for each in bucket.walk("")] == [large(tmp_path).stat().st_size]


def test_a_storage_that_says_nothing_is_waited_for_as_long_as_one_that_is_away(
    own_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_module, "REQUEST_SECONDS", 300.0)  # longer than this test may take
    bucket = opened(own_server, "x", patience=0.5)
    bucket.put_file("one", large(tmp_path))
    with own_server.stand_still():
        for ask in (
            bucket.check,
            lambda: bucket.get("one"),
            lambda: list(bucket.walk("")),
            lambda: list(bucket.read("one", 0, 100)),
            lambda: bucket.put("two", b""),
            lambda: bucket.delete(["one"]),
        ):
            with pytest.raises(ServiceUnavailableError, match="the storage of the service cannot be used"):
                ask()
    with own_server.stand_still():
        threading.Timer(1.0, own_server.go_on).start()
        bucket.put_file("three", large(tmp_path))
    assert "three" in [each.key for each in bucket.walk("")]


def test_a_storage_that_stays_away_is_told_of_without_its_address(
    own_server: S3Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bucket = opened(own_server, "x", patience=0.5)
    own_server.go_away()
    for ask in (
        bucket.check,
        lambda: bucket.get("one"),
        lambda: list(bucket.walk("")),
        lambda: bucket.names(""),
        lambda: bucket.put("one", b""),
        lambda: bucket.put_file("one", large(tmp_path)),
        lambda: list(bucket.read("one", 0, 5)),
        lambda: bucket.delete(["one"]),
    ):
        with pytest.raises(ServiceUnavailableError) as caught:
            ask()
        assert str(caught.value) == "the storage of the service cannot be used. Try again later."
    assert "503 Service Unavailable" in caplog.text
    assert VARIABLES["AWS_SECRET_ACCESS_KEY"] not in caplog.text
    own_server.end()
    with pytest.raises(ServiceUnavailableError):
        bucket.get("one")


def test_a_bucket_that_is_not_there_is_no_file_that_was_erased(shared_s3: S3Server) -> None:
    with pytest.raises(ServiceUnavailableError, match=r"the storage of the service is not there\. The operator"):
        open_bucket("s3://another-bucket", shared_s3.variables, 1.0)
    store = S3Store(
        "gone-bucket",
        config={"endpoint": shared_s3.url, "access_key_id": "key", "secret_access_key": "secret"},
        client_options={"allow_http": True},
    )
    with pytest.raises(ServiceUnavailableError):
        Bucket(store).get("one")
    assert "NoSuchBucket" in str(caught_by(lambda: obstore.get(store, "one")))


@pytest.mark.parametrize("kind", [PermissionDeniedError, UnauthenticatedError, PermissionError])
def test_keys_that_do_not_fit_are_the_operators_to_see_to(kind: type[Exception]) -> None:
    with (
        pytest.raises(ServiceUnavailableError, match=r"does not let it in\. The operator has to see to its keys"),
        reaching(),
    ):
        raise kind("403 Forbidden")


def test_a_secret_may_be_a_file_and_no_address_is_a_server_by_accident(shared_s3: S3Server, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a secret of the storage\n")
    variables = {**shared_s3.variables, "AWS_SECRET_ACCESS_KEY_FILE": str(secret)}
    del variables["AWS_SECRET_ACCESS_KEY"]
    open_bucket(f"s3://{BUCKET}", variables, 1.0).check()
    with pytest.raises(SetupError, match=r"AWS_SECRET_ACCESS_KEY_FILE: .* cannot be read"):
        open_bucket(f"s3://{BUCKET}", {**variables, "AWS_SECRET_ACCESS_KEY_FILE": str(tmp_path / "no")}, 1.0)
    with pytest.raises(SetupError, match="the address of the object storage is none"):
        open_bucket(f"s3://{BUCKET}", {**variables, "AWS_ENDPOINT_URL": "127.0.0.1:9000"}, 1.0)


def test_a_storage_takes_the_rule_for_uploads_that_were_broken_off(shared_s3: S3Server) -> None:
    client = boto3.client(
        "s3",
        endpoint_url=shared_s3.url,
        region_name=VARIABLES["AWS_REGION"],
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    rules = json.loads((Path(__file__).parents[2] / "deploy" / "bucket-lifecycle.json").read_text())
    client.put_bucket_lifecycle_configuration(Bucket=BUCKET, LifecycleConfiguration=rules)
    kept = client.get_bucket_lifecycle_configuration(Bucket=BUCKET)["Rules"]
    assert [rule["AbortIncompleteMultipartUpload"] for rule in kept] == [{"DaysAfterInitiation": 1}]
    client.close()
