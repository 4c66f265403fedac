"""Assets, results and segments in a bucket."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from facefusion.service.asset_copies import AssetCopies
from facefusion.service.bucket import Bucket, open_bucket
from facefusion.service.errors import NotFoundError
from facefusion.service.files import LEFT_SECONDS, OVER_SECONDS, UNFINISHED_SECONDS
from facefusion.service.object_store import ObjectStore
from facefusion.service.records import Asset, Result
from tests.service.fakes import Clock
from tests.service.s3_server import BUCKET, S3Server

pytestmark = pytest.mark.service

CONTENT = b"a picture"
NO_IDS = ("", ".", "..", "../x", "a/b", "/etc", "a.b", "-a", "x" * 65, "a\0b", "é")


@pytest.fixture
def objects() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def clock() -> Clock:
    return Clock(time.time())


@pytest.fixture
def store(objects: MemoryStore, clock: Clock) -> ObjectStore:
    return ObjectStore(Bucket(objects), clock=clock)


def asset_of(content: bytes = CONTENT, entry: str = "a1", owner: str = "me") -> Asset:
    digest = sha256(content).hexdigest()
    return Asset(entry, owner, digest, len(content), "image/jpeg", ".jpg", created=10.0, expires=20.0)


def upload(store: ObjectStore, folder: Path, asset: Asset, content: bytes = CONTENT) -> Asset:
    part = folder / f"{asset.id}.part"
    part.write_bytes(content)
    store.add(part, asset)
    assert not part.exists()
    return asset


def result_of(content: bytes, expires: float = 2e9) -> Result:
    return Result(sha256(content).hexdigest(), len(content), "image/png", ".png", expires)


def put(store: ObjectStore, folder: Path, content: bytes = b"made", job: str = "j1", expires: float = 2e9) -> None:
    made = folder / "made.png"
    made.write_bytes(content)
    store.put_result(job, made, result_of(content, expires))
    assert not made.exists()


def read(store: ObjectStore, content: bytes = b"made", job: str = "j1") -> bytes:
    """What is handed out where a job's record tells of that content."""
    result = store.open_result(job, result_of(content))
    return b"".join(result.read(0, result.size))


def keys(objects: MemoryStore) -> list[str]:
    return sorted(each["path"] for page in obstore.list(objects) for each in page)


def test_an_asset_is_kept_and_found_by_every_process(store: ObjectStore, objects: MemoryStore, tmp_path: Path) -> None:
    asset = upload(store, tmp_path, replace(asset_of(), width=3, height=2))
    for one in (store, ObjectStore(Bucket(objects))):
        assert one.asset("a1") == asset
        assert one.assets(None) == one.assets("me") == [asset]
        assert one.assets("you") == []
        folder = tmp_path / str(id(one))
        folder.mkdir()
        path = one.fetch("a1", folder)
        assert path.read_bytes() == CONTENT
        assert (path.parent, path.suffix) == (folder, ".jpg")
    assert keys(objects) == [f"assets/a1/{asset.sha256}.jpg", "assets/a1/about.json"]


def test_what_another_process_added_or_erased_shows_at_once(
    store: ObjectStore, objects: MemoryStore, tmp_path: Path
) -> None:
    other = ObjectStore(Bucket(objects))
    first, second = asset_of(), asset_of(b"another", "a2", "you")
    upload(store, tmp_path, first)
    assert other.assets(None) == [first]
    upload(store, tmp_path, second, b"another")
    assert other.assets(None) == [first, second]
    store.erase_asset("a1")
    assert other.assets(None) == [second]
    assert other.asset("a1") is None


def test_what_is_erased_is_gone_and_erasing_twice_is_harmless(
    store: ObjectStore, objects: MemoryStore, tmp_path: Path
) -> None:
    upload(store, tmp_path, asset_of())
    put(store, tmp_path)
    segments = store.segments("j1", tmp_path)
    (segments.folder / "segment-7.mkv").write_bytes(b"face")
    segments.hand_in()
    assert "segments/j1/segment-7.mkv" in keys(objects)
    for _ in range(2):
        store.erase_asset("a1")
        store.erase_job("j1")
    assert keys(objects) == []
    with pytest.raises(NotFoundError, match=r"there is no asset a1\. It may have been erased, or its time is over\."):
        store.fetch("a1", tmp_path)
    with pytest.raises(NotFoundError, match="there is no result of job j1"):
        store.open_result("j1", result_of(b"made"))


def test_what_a_holder_puts_there_too_late_takes_nobody_s_place(store: ObjectStore, tmp_path: Path) -> None:
    put(store, tmp_path, b"that counts")
    put(store, tmp_path, b"late")
    assert read(store, b"that counts") == b"that counts"
    assert read(store, b"late") == b"late"
    with pytest.raises(NotFoundError):
        read(store, b"never there")


@pytest.mark.parametrize("entry", NO_IDS)
def test_what_is_no_id_has_no_object(store: ObjectStore, objects: MemoryStore, tmp_path: Path, entry: str) -> None:
    assert store.asset(entry) is None
    store.erase_asset(entry)
    store.erase_job(entry)
    with pytest.raises(NotFoundError):
        store.open_result(entry, result_of(b"made"))
    with pytest.raises(ValueError, match="no id"):
        store.segments(entry, tmp_path)
    with pytest.raises(ValueError, match="no id"):
        store.add(tmp_path / "x", asset_of(entry=entry))
    assert keys(objects) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        '{"format": 9, "file": "x", "size": 1, "about": {}}',
        f'{{"format": 1, "file": "{"0" * 64}.jpg", "size": 1, "about": {{}}}}',
        f'{{"format": 1, "file": "{"0" * 64}.jpg", "size": 1, "about": {{"id": 3, "expires": "soon"}}}}',
        f'{{"format": 1, "file": "{"0" * 64}.jpg", "size": 1, "about": 7}}',
    ],
)
def test_an_entry_that_cannot_be_read_counts_as_erased(
    store: ObjectStore, objects: MemoryStore, tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    asset = upload(store, tmp_path, asset_of())
    upload(store, tmp_path, asset_of(entry="a2"))
    obstore.put(objects, "assets/a2/about.json", text.encode())
    assert store.assets(None) == [asset]
    assert "what is known of a2 cannot be read" in caplog.text
    put(store, tmp_path, b"result")
    obstore.put(objects, "results/j1/about.json", text.encode())
    assert store.sweep() == 0


def test_no_name_is_known_of_a_file(store: ObjectStore, objects: MemoryStore, tmp_path: Path) -> None:
    asset = upload(store, tmp_path, asset_of())
    about = json.loads(bytes(obstore.get(objects, "assets/a1/about.json").bytes()))
    assert about["file"] == f"{asset.sha256}.jpg"
    assert set(about) == {"format", "file", "size", "about"}


def test_segments_of_all_workers_come_together(store: ObjectStore, objects: MemoryStore, tmp_path: Path) -> None:
    for number, worker in enumerate(("one", "two", "three")):
        segments = store.segments("j1", tmp_path / worker)
        (segments.folder / f"segment-{number}-{worker}.mkv").write_text(worker)
        (segments.folder / f"segment-{number}-{worker}.json").write_text("{}")
        segments.hand_in()
    joiner = store.segments("j1", tmp_path / "joiner")
    assert list(joiner.folder.iterdir()) == []
    joiner.bring()
    joiner.bring()
    texts = [path.read_text() for path in sorted(joiner.folder.glob("*.mkv"))]
    assert texts == ["one", "two", "three"]
    assert len(list(joiner.folder.iterdir())) == 6
    store.segments("j2", tmp_path / "another").bring()
    assert list((tmp_path / "another" / "segments").iterdir()) == []
    store.erase_segments("j1")
    assert keys(objects) == []


def test_what_processes_that_ended_left_is_swept(
    store: ObjectStore, objects: MemoryStore, clock: Clock, tmp_path: Path
) -> None:
    upload(store, tmp_path, asset_of())
    put(store, tmp_path, b"first")
    put(store, tmp_path, b"late", expires=clock.now + LEFT_SECONDS)
    unfinished = f"results/j3/{sha256(b'face').hexdigest()}.png"
    obstore.put(objects, unfinished, b"face")
    obstore.put(objects, f"assets/a2/{sha256(b'x').hexdigest()}.jpg", b"x")
    obstore.put(objects, "segments/j9/segment-1.mkv", b"face")
    kept = keys(objects)
    assert store.sweep() == 0
    assert keys(objects) == kept

    clock.now += UNFINISHED_SECONDS + 60
    assert store.sweep() == 2
    assert set(kept) - set(keys(objects)) == {unfinished, f"assets/a2/{sha256(b'x').hexdigest()}.jpg"}

    clock.now += LEFT_SECONDS - UNFINISHED_SECONDS
    assert store.sweep() == 1
    assert not [key for key in keys(objects) if key.startswith("segments/")]
    assert read(store, b"first") == b"first"

    clock.now += OVER_SECONDS - 61
    assert store.sweep() == 0
    clock.now += 2
    assert store.sweep() == 1
    assert [key.partition("/")[0] for key in keys(objects)] == ["assets", "assets"]


def test_what_is_known_is_read_once_however_often_it_is_swept(shared_s3: S3Server, tmp_path: Path) -> None:
    store = ObjectStore(open_bucket(f"s3://{BUCKET}/sweeps", shared_s3.variables, 5.0))
    for number in range(3):
        upload(store, tmp_path, asset_of(entry=f"a{number}"))
        put(store, tmp_path, job=f"j{number}")

    def asked() -> int:
        return len(
            [line for line in shared_s3.requests if line.startswith("GET") and "sweeps" in line and "about" in line]
        )

    store.sweep()
    once = asked()
    assert once == 6
    store.sweep()
    assert asked() == once
    put(store, tmp_path, b"anew", job="j1")
    store.sweep()
    assert asked() == once + 1


def test_a_real_storage_keeps_the_same_promises(shared_s3: S3Server, tmp_path: Path) -> None:
    store = ObjectStore(open_bucket(f"s3://{BUCKET}/promises", shared_s3.variables, 5.0))
    assert store.assets(None) == []
    assert store.sweep() == 0
    asset = upload(store, tmp_path, asset_of())
    put(store, tmp_path, b"first")
    put(store, tmp_path, b"second")
    segments = store.segments("j1", tmp_path / "one")
    (segments.folder / "segment-7.mkv").write_bytes(b"")
    segments.hand_in()
    other = store.segments("j1", tmp_path / "two")
    other.bring()
    assert [path.read_bytes() for path in other.folder.iterdir()] == [b""]
    assert store.assets("me") == [asset]
    assert store.fetch("a1", tmp_path).read_bytes() == CONTENT
    assert (read(store, b"first"), read(store, b"second")) == (b"first", b"second")
    assert store.free_bytes() is None
    store.erase_asset("a1")
    store.erase_job("j1")
    assert list(open_bucket(f"s3://{BUCKET}/promises", shared_s3.variables, 5.0).walk("")) == []


def test_segments_of_a_job_fetch_its_target_once(shared_s3: S3Server, tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    bucket = open_bucket(f"s3://{BUCKET}/copies", shared_s3.variables, 5.0)
    copies = AssetCopies(tmp_path / "copies", 1000)
    store = ObjectStore(bucket, copies)
    asset = upload(store, tmp_path, asset_of())
    for unit in ("one", "two"):
        (tmp_path / unit).mkdir()
        assert store.fetch("a1", tmp_path / unit).read_bytes() == CONTENT
    fetched = [
        line for line in shared_s3.requests if line.startswith("GET") and f"copies/assets/a1/{asset.sha256}" in line
    ]
    assert len(fetched) == 1
    store.erase_asset("a1")
    with pytest.raises(NotFoundError):
        store.fetch("a1", tmp_path)
    copies.tend(lambda asset_id: store.asset(asset_id) is not None)
    assert list((tmp_path / "copies").iterdir()) == []
