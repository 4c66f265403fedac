"""Assets and results in a folder."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
import time
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from facefusion.service import kept_files
from facefusion.service.errors import NotFoundError, ServiceUnavailableError, StorageFullError
from facefusion.service.files import LEFT_SECONDS, OVER_SECONDS, UNFINISHED_SECONDS, FolderStore
from facefusion.service.records import Asset, Result

NO_IDS = ("", ".", "..", "../x", "a/b", "/etc", "a.b", "-a", "x" * 65, "a\0b", "é")
CONTENT = b"a picture"
RESULT = Result(sha256(b"made").hexdigest(), 4, "image/png", ".png", 2_000_000_000.0)


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "storage" / "service")


def asset_of(content: bytes = CONTENT, entry: str = "a1", owner: str = "me") -> Asset:
    digest = sha256(content).hexdigest()
    return Asset(entry, owner, digest, len(content), "image/jpeg", ".jpg", created=10.0, expires=20.0)


def upload(store: FolderStore, folder: Path, asset: Asset, content: bytes = CONTENT) -> Asset:
    part = folder / f"{asset.id}.part"
    part.write_bytes(content)
    store.add(part, asset)
    assert not part.exists()
    return asset


def put(store: FolderStore, folder: Path, content: bytes = b"made", job: str = "j1", result: Result = RESULT) -> None:
    made = folder / "made.png"
    made.write_bytes(content)
    store.put_result(job, made, replace(result, sha256=sha256(content).hexdigest(), size=len(content)))
    assert not made.exists()


def result_of(content: bytes) -> Result:
    return replace(RESULT, sha256=sha256(content).hexdigest(), size=len(content))


def content(store: FolderStore, made: bytes = b"made") -> bytes:
    """What is handed out where a job's record tells of that content."""
    result = store.open_result("j1", result_of(made))
    return b"".join(result.read(0, result.size))


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_an_asset_is_kept_and_found_by_every_process(store: FolderStore, tmp_path: Path) -> None:
    asset = upload(store, tmp_path, asset_of())
    root = tmp_path / "storage" / "service"
    for one in (store, FolderStore(root)):
        assert one.asset("a1") == asset
        assert one.assets(None) == one.assets("me") == [asset]
        assert one.assets("you") == []
        path = one.fetch("a1", tmp_path / "own")
        assert path.read_bytes() == CONTENT
        assert path.suffix == ".jpg"
    assert not (tmp_path / "own").exists()
    assert files_below(root) == [f"assets/a1/{asset.sha256}.jpg", "assets/a1/about.json"]


def test_what_another_process_added_or_erased_shows_at_once(store: FolderStore, tmp_path: Path) -> None:
    other = FolderStore(tmp_path / "storage" / "service")
    first, second = asset_of(), asset_of(b"another", "a2", "you")
    upload(store, tmp_path, first)
    assert other.assets(None) == [first]
    upload(store, tmp_path, second, b"another")
    assert other.assets(None) == [first, second]
    store.erase_asset("a1")
    assert other.assets(None) == [second]
    assert other.asset("a1") is None


def test_nobody_else_on_the_machine_may_look(store: FolderStore, tmp_path: Path) -> None:
    upload(store, tmp_path, asset_of())
    put(store, tmp_path)
    store.segments("j1", tmp_path)
    root = tmp_path / "storage" / "service"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (root, *root.rglob("*")) if path.is_dir()}
    assert modes == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*") if path.is_file()} == {0o600}


def test_what_is_erased_is_gone_and_erasing_twice_is_harmless(store: FolderStore, tmp_path: Path) -> None:
    upload(store, tmp_path, asset_of())
    put(store, tmp_path)
    shared = store.segments("j1", tmp_path).folder
    (shared / "segment").write_bytes(b"face")
    for _ in range(2):
        store.erase_asset("a1")
        store.erase_job("j1")
    assert files_below(tmp_path) == []
    with pytest.raises(NotFoundError, match=r"there is no asset a1\. It may have been erased, or its time is over\."):
        store.fetch("a1", tmp_path)
    with pytest.raises(NotFoundError, match="there is no result of job j1"):
        store.open_result("j1", RESULT)


def test_what_a_holder_puts_there_too_late_takes_nobody_s_place(store: FolderStore, tmp_path: Path) -> None:
    put(store, tmp_path, b"that counts")
    put(store, tmp_path, b"late")
    assert content(store, b"that counts") == b"that counts"
    assert content(store, b"late") == b"late"
    with pytest.raises(NotFoundError, match="there is no result of job j1"):
        content(store, b"never there")


def test_whoever_reads_while_others_write_sees_a_whole_result(store: FolderStore, tmp_path: Path) -> None:
    contents = [bytes([number]) * 70_000 for number in range(3)]
    put(store, tmp_path, contents[0])
    failures: list[Exception] = []

    def write(number: int) -> None:
        folder = tmp_path / f"writer-{number}"
        folder.mkdir()
        try:
            for _ in range(20):
                put(store, folder, contents[number])
        except Exception as failure:  # noqa: BLE001 - told by the test
            failures.append(failure)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(content(store, contents[0]))
    for writer in writers:
        writer.join()
    assert failures == []
    assert seen == {contents[0]}
    assert [name for name in files_below(tmp_path / "storage") if name.endswith(".part")] == []


def test_a_file_on_another_file_system_is_copied(
    store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> Path:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(Path, "rename", refuse)
    put(store, tmp_path)
    assert content(store) == b"made"


@pytest.mark.parametrize("entry", NO_IDS)
def test_no_id_is_a_path(store: FolderStore, tmp_path: Path, entry: str) -> None:
    outside = tmp_path / "storage" / "x"
    outside.mkdir()
    (outside / "about.json").write_text("{}")
    assert store.asset(entry) is None
    store.erase_asset(entry)
    store.erase_job(entry)
    with pytest.raises(NotFoundError):
        store.fetch(entry, tmp_path)
    with pytest.raises(ValueError, match="no id"):
        store.segments(entry, tmp_path)
    with pytest.raises(ValueError, match="no id"):
        upload_as(store, tmp_path, entry)
    assert files_below(tmp_path) == ["made", "storage/x/about.json"]


def upload_as(store: FolderStore, folder: Path, entry: str) -> None:
    (folder / "made").write_bytes(CONTENT)
    store.add(folder / "made", replace(asset_of(), id=entry))


@pytest.mark.parametrize("change", [{"extension": "/../x"}, {"extension": ""}, {"sha256": "../" * 3}])
def test_nothing_else_of_a_record_is_a_path(store: FolderStore, tmp_path: Path, change: dict[str, str]) -> None:
    (tmp_path / "made").write_bytes(CONTENT)
    with pytest.raises(ValueError, match="no id, digest and extension"):
        store.add(tmp_path / "made", replace(asset_of(), **change))  # type: ignore[arg-type]
    assert files_below(tmp_path) == ["made"]


def test_a_full_storage_is_told_and_leaves_nothing(
    store: FolderStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(kept_files, "flush", refuse)
    with pytest.raises(StorageFullError) as refused:
        upload(store, tmp_path, asset_of())
    assert str(refused.value) == "the storage of the service is full. Try again later."
    assert files_below(tmp_path / "storage") == []
    assert store.assets(None) == []


def test_a_storage_that_cannot_be_used_is_told_without_a_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ServiceUnavailableError) as refused:
        FolderStore(tmp_path / "file" / "storage")
    assert str(refused.value) == "the storage of the service cannot be used. Try again later."


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        '{"format": 9, "file": "x", "about": {}}',
        '{"format": 1, "file": "x", "about": {}}',
        '{"format": 1, "file": "x", "about": {"id": 3, "expires": "soon"}}',
        '{"format": 1, "file": "x", "about": []}',
        '{"format": 1, "file": ["x"], "about": {}}',
    ],
)
def test_an_entry_that_cannot_be_read_counts_as_erased(
    store: FolderStore, tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    asset = upload(store, tmp_path, asset_of())
    damaged = upload(store, tmp_path, asset_of(entry="a2"))
    (tmp_path / "storage" / "service" / "assets" / damaged.id / "about.json").write_text(text)
    assert store.assets(None) == [asset]
    assert store.asset("a2") is None
    assert "what is known of a2 cannot be read" in caplog.text
    put(store, tmp_path, b"result", "j1")
    (tmp_path / "storage" / "service" / "results" / "j1" / "about.json").write_text(text)
    assert store.sweep() == 0


def test_the_side_car_holds_what_is_known_and_no_name(store: FolderStore, tmp_path: Path) -> None:
    asset = upload(store, tmp_path, asset_of())
    about = json.loads((tmp_path / "storage" / "service" / "assets" / "a1" / "about.json").read_text())
    assert set(about["about"]) == {
        "id", "owner", "sha256", "size", "media_type", "extension", "created", "expires", "width", "height", "frames",
        "duration",
    }  # fmt: skip
    assert about["file"] == f"{asset.sha256}.jpg"


def test_free_bytes_are_those_of_the_disk(store: FolderStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Path] = []

    def usage(path: Path) -> SimpleNamespace:
        asked.append(path)
        return SimpleNamespace(total=10, used=7, free=3)

    monkeypatch.setattr("shutil.disk_usage", usage)
    assert store.free_bytes() == 3
    assert asked == [tmp_path / "storage" / "service"]


def test_what_was_left_is_swept_away_once_it_is_old(store: FolderStore, tmp_path: Path) -> None:
    root = tmp_path / "storage" / "service"
    asset = upload(store, tmp_path, asset_of())
    put(store, tmp_path, b"first")
    put(store, tmp_path, b"late")
    first = root / "results" / "j3" / f"{sha256(b'first').hexdigest()}.png"
    first.parent.mkdir()
    first.write_bytes(b"of a process that ended")
    part = root / "assets" / "a1" / "0123.part"
    part.write_bytes(b"half a face")
    unnamed = root / "assets" / "b2"
    unnamed.mkdir()
    assert store.sweep() == 0
    assert first.exists()
    for path in (first, part, unnamed, *(root / "assets" / "a1").iterdir(), *(root / "results").glob("*/*")):
        age(path, UNFINISHED_SECONDS + 60)
    assert store.sweep() == 2
    assert not first.exists()
    assert not part.exists()
    assert not unnamed.exists()
    assert content(store, b"first") == b"first"
    assert store.assets(None) == [asset]


def test_results_and_segments_of_forgotten_jobs_go_when_their_time_is_over(tmp_path: Path) -> None:
    now = [time.time()]
    store = FolderStore(tmp_path / "storage", clock=lambda: now[0])
    put(store, tmp_path, result=replace(RESULT, expires=now[0] + 1000.0))
    shared = store.segments("j2", tmp_path).folder
    (shared / "segment-000000-1.mkv").write_bytes(b"face")
    now[0] += 1000.0
    assert store.sweep() == 0
    now[0] += OVER_SECONDS + 1
    assert store.sweep() == 1
    assert not (tmp_path / "storage" / "results" / "j1").exists()
    now[0] += LEFT_SECONDS - OVER_SECONDS - 1000.0
    assert store.sweep() == 1
    assert files_below(tmp_path / "storage") == []
    assert not shared.exists()
