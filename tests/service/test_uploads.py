import errno
import hashlib
import os
from dataclasses import replace

import pytest

from facefusion.service.errors import ServiceUnavailableError, StorageFullError, TooLargeError, UnsupportedMediaError
from facefusion.service.ledger import MemoryLedger
from facefusion.service.look import Content
from facefusion.service.settings import ServiceSettings
from facefusion.service.uploads import ABANDONED_SECONDS, UploadLimits, Uploads
from tests.service.fakes import Clock, MemoryFiles

LIMITS = UploadLimits(upload=1000, subject=2500, free=100, retention=3600.0)


def look(path):
    if not path.read_bytes().startswith(b"photo"):
        raise UnsupportedMediaError("the upload is of no format that is known here")
    return Content("image/jpeg", ".jpg")


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    return MemoryFiles(folder)


@pytest.fixture
def parts(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    return folder


@pytest.fixture
def uploads(files, parts, clock):
    return Uploads(files, parts, LIMITS, look, clock)


def send(uploads, *pieces, owner="ann", announced=None):
    upload = uploads.begin(owner, announced)
    try:
        for piece in pieces:
            upload.write(piece)
        return upload.keep()
    finally:
        upload.close()


def test_an_upload_is_kept_as_what_it_is(uploads, files, parts, clock):
    asset = send(uploads, b"photo", b" of ann")
    assert asset == files.asset(asset.id)
    assert (asset.owner, asset.size, asset.media_type, asset.extension) == ("ann", 12, "image/jpeg", ".jpg")
    assert asset.sha256 == hashlib.sha256(b"photo of ann").hexdigest()
    assert (asset.created, asset.expires) == (clock.now, clock.now + 3600)
    assert len(asset.id) == 32
    assert list(parts.iterdir()) == []


@pytest.mark.parametrize("pieces", [(b"text",), (b"",), ()])
def test_what_is_no_media_leaves_nothing(uploads, files, parts, pieces):
    with pytest.raises(UnsupportedMediaError):
        send(uploads, *pieces)
    assert files.assets(None) == []
    assert list(parts.iterdir()) == []


def test_one_that_is_too_large_is_refused_as_soon_as_that_is_known(uploads, parts):
    with pytest.raises(TooLargeError, match=r"the upload is larger than 1.0 kB"):
        send(uploads, announced=1001)
    upload = uploads.begin("ann", None)
    upload.write(b"x" * 1000)
    with pytest.raises(TooLargeError, match=r"the upload is larger than 1.0 kB"):
        upload.write(b"x")
    assert next(parts.iterdir()).stat().st_size == 1000
    upload.close()
    assert list(parts.iterdir()) == []


def test_all_of_one_subject_is_bounded_and_others_are_not_concerned(uploads, files):
    first = send(uploads, b"photo" + bytes(995))
    send(uploads, b"photo" + bytes(995))
    with pytest.raises(TooLargeError, match=r"more than 2.5 kB would be kept for you"):
        send(uploads, announced=501)
    with pytest.raises(TooLargeError, match="would be kept for you"):
        send(uploads, b"photo" + bytes(496))
    send(uploads, b"photo" + bytes(995), owner="bob")
    files.erase_asset(first.id)
    send(uploads, b"photo" + bytes(496))


def test_uploads_on_their_way_count_and_those_that_ended_do_not(uploads):
    running = [uploads.begin("ann", None) for _ in range(2)]
    for upload in running:
        upload.write(bytes(1000))
    with pytest.raises(TooLargeError, match="would be kept for you"):
        uploads.begin("ann", 501)
    for upload in running:
        upload.close()
    uploads.begin("ann", 1000).close()


def test_what_is_announced_counts_before_it_comes(uploads):
    running = [uploads.begin("ann", 1000) for _ in range(2)]
    with pytest.raises(TooLargeError, match="would be kept for you"):
        uploads.begin("ann", 501)
    uploads.begin("ann", 500).close()
    for upload in running:
        upload.close()
    uploads.begin("ann", 1000).close()


def test_two_that_come_at_once_through_different_replicas_do_not_exceed_the_quota(files, parts, clock):
    ledger = MemoryLedger()
    replicas = [Uploads(files, parts, LIMITS, look, clock, ledger) for _ in range(2)]
    send(replicas[0], b"photo" + bytes(995))
    first, second = (replica.begin("ann", None) for replica in replicas)
    for upload in (first, second):
        upload.write(b"photo" + bytes(795))
    with pytest.raises(TooLargeError, match="would be kept for you"):
        first.keep()
    first.close()
    assert second.keep().size == 800
    second.close()
    assert sum(asset.size for asset in files.assets("ann")) == 1800


def test_an_upload_that_was_kept_is_kept_though_its_claim_cannot_be_taken_back(files, parts, clock, caplog):
    class Away(MemoryLedger):
        def release(self, owner, upload):
            raise ServiceUnavailableError("Redis cannot be used")

    asset = send(Uploads(files, parts, LIMITS, look, clock, Away()), b"photo")
    assert files.asset(asset.id) == asset
    assert "an upload that ended counts towards a quota for a while: Redis cannot be used" in caplog.text


def test_results_count_as_well(files, parts, clock):
    results = {"ann": 1501}
    uploads = Uploads(files, parts, LIMITS, look, clock, kept_results=lambda owner: results.get(owner, 0))
    with pytest.raises(TooLargeError, match="would be kept for you"):
        uploads.begin("ann", 1000).close()
    uploads.begin("bob", 1000).close()
    uploads.check_quota("ann")
    results["ann"] = 2501
    with pytest.raises(TooLargeError, match=r"Erase what is no longer needed with DELETE /v1/assets/{id} and"):
        uploads.check_quota("ann")


def test_no_more_files_are_kept_than_may(files, parts, clock):
    uploads = Uploads(files, parts, replace(LIMITS, files=2), look, clock)
    send(uploads, b"photo 1")
    kept = send(uploads, b"photo 2")
    with pytest.raises(TooLargeError, match="2 uploads are kept for you already"):
        uploads.begin("ann", 7)
    send(uploads, b"photo 3", owner="bob")
    files.erase_asset(kept.id)
    send(uploads, b"photo 3")


def test_there_has_to_be_room(uploads, files):
    files.free = 599
    with pytest.raises(StorageFullError, match="there is no room for more files"):
        uploads.begin("ann", 500)
    uploads.begin("ann", 499).close()
    uploads.check_free()
    files.free = 99
    with pytest.raises(StorageFullError):
        uploads.check_free()


def test_a_disk_that_fills_up_is_said(uploads, parts, monkeypatch):
    upload = uploads.begin("ann", None)
    upload.write(b"photo")

    def full(descriptor, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("facefusion.service.uploads.os.write", full)
        with pytest.raises(StorageFullError, match="there is no room"):
            upload.write(b"more")
    upload.close()
    assert list(parts.iterdir()) == []


def test_other_errors_of_the_disk_are_not_taken_for_a_full_one(files, tmp_path, clock):
    upload = Uploads(files, tmp_path / "missing", LIMITS, look, clock).begin("ann", None)
    with pytest.raises(FileNotFoundError):
        upload.write(b"photo")


def test_what_processes_left_is_swept_and_what_is_on_its_way_is_not(uploads, parts, clock):
    (parts / "old.part").touch()
    (parts / "new.part").touch()
    (parts / "other").touch()
    for name, age in (("old.part", ABANDONED_SECONDS + 1), ("new.part", 1), ("other", ABANDONED_SECONDS + 1)):
        os.utime(parts / name, (clock.now - age,) * 2)
    assert uploads.sweep() == 1
    assert sorted(path.name for path in parts.iterdir()) == ["new.part", "other"]


def test_limits_are_in_bytes_and_seconds():
    settings = replace(
        ServiceSettings(), upload_limit=0.5, subject_quota=2.0, minimum_free_space=1.5, retention_hours=2.0
    )
    assert UploadLimits.of(settings) == UploadLimits(500_000_000, 2_000_000_000, 1_500_000_000, 7200.0)
