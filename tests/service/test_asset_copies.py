"""Copies of assets on a worker's disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from facefusion.service.asset_copies import IDLE_SECONDS, AssetCopies
from facefusion.service.errors import NotFoundError, ServiceUnavailableError
from tests.service.fakes import Clock


class Storage:
    """Hands out files of a size, and counts."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder / "copies"
        self.folder.mkdir()
        self.clock = Clock()
        self.copies = AssetCopies(self.folder, limit, self.clock)
        self.fetched: list[str] = []
        self._units = folder
        self._count = 0

    def get(self, asset_id: str, size: int) -> Path:
        self._count += 1
        path = self._units / f"{asset_id}-{self._count}"

        def fetch(place: Path) -> None:
            self.fetched.append(asset_id)
            place.write_bytes(asset_id.encode() * size)

        self.copies.get(asset_id, size, path, fetch)
        return path

    def kept(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path, limit=10)


def test_an_asset_is_fetched_once(storage: Storage) -> None:
    assert [storage.get("a", 4).read_bytes() for _ in range(3)] == [b"aaaa"] * 3
    assert storage.fetched == ["a"]


def test_the_least_recently_used_make_room_and_stay_with_who_has_them(storage: Storage) -> None:
    first = storage.get("a", 4)
    storage.get("b", 4)
    storage.get("a", 4)
    storage.get("c", 4)
    assert storage.kept() == ["a", "c"]
    storage.get("d", 10)
    assert storage.kept() == ["d"]
    assert first.read_bytes() == b"aaaa"


def test_what_is_larger_than_all_copies_may_be_is_not_kept(storage: Storage) -> None:
    storage.get("a", 4)
    assert storage.get("b", 11).read_bytes() == b"b" * 11
    assert storage.kept() == ["a"]


def test_without_room_for_copies_each_is_fetched(tmp_path: Path) -> None:
    storage = Storage(tmp_path, limit=0)
    assert [storage.get("a", 1).read_bytes() for _ in range(2)] == [b"a"] * 2
    assert storage.fetched == ["a", "a"]
    assert storage.kept() == []


def test_one_that_could_not_be_fetched_is_fetched_the_next_time(storage: Storage, tmp_path: Path) -> None:
    def fail(place: Path) -> None:
        raise NotFoundError("there is no asset a")

    with pytest.raises(NotFoundError):
        storage.copies.get("a", 4, tmp_path / "x", fail)
    assert storage.get("a", 4).read_bytes() == b"aaaa"


def test_copies_go_with_their_asset_and_when_nobody_asks(storage: Storage) -> None:
    for asset_id in ("a", "b", "c"):
        storage.get(asset_id, 3)
    storage.copies.tend(lambda asset_id: asset_id != "b")
    assert storage.kept() == ["a", "c"]
    storage.clock.now += IDLE_SECONDS - 1
    storage.get("c", 3)
    storage.clock.now += 2
    storage.copies.tend(lambda asset_id: True)
    assert storage.kept() == ["c"]


def test_a_storage_that_is_away_takes_no_copy(storage: Storage, caplog: pytest.LogCaptureFixture) -> None:
    def away(asset_id: str) -> bool:
        raise ServiceUnavailableError("the storage of the service cannot be used")

    storage.get("a", 3)
    storage.copies.tend(away)
    assert storage.kept() == ["a"]
    assert "whether a is still there is not known" in caplog.text
    storage.clock.now += IDLE_SECONDS + 1
    storage.copies.tend(away)
    assert storage.kept() == []
