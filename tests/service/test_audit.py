import json
import sys
import threading

import pytest

from facefusion.service.audit import AuditLog, Entry
from facefusion.service.errors import NotFoundError, ServiceUnavailableError
from tests.service.fakes import Clock


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.jsonl"


@pytest.fixture
def log(path):
    return AuditLog(path, Clock(1_800_000_000.25))


def test_a_line_says_when_who_from_where_what_on_which_files_and_how_it_ended(log, path):
    with log.recording("user:ann", "203.0.113.7", "upload") as entry:
        entry.asset = "0" * 32
        entry.hashes = ["ab" * 32]
    assert lines(path) == [
        {
            "time": "2027-01-15T08:00:00.250+00:00",
            "subject": "user:ann",
            "address": "203.0.113.7",
            "action": "upload",
            "outcome": "done",
            "asset": "0" * 32,
            "sha256": ["ab" * 32],
        }
    ]


def test_what_fails_is_recorded_and_raised(log, path):
    with pytest.raises(NotFoundError), log.recording("ann", "", "erase job") as entry:
        entry.job = "9" * 32
        raise NotFoundError("there is no such job")
    assert [(line["action"], line["outcome"], line["job"]) for line in lines(path)] == [
        ("erase job", "not-found", "9" * 32)
    ]


def test_lines_are_added_and_a_file_that_was_moved_away_is_begun_anew(log, path):
    log.write(Entry("ann", "", "one"), "done")
    log.write(Entry("ann", "", "two"), "done")
    path.rename(path.with_suffix(".1"))
    log.write(Entry("ann", "", "three"), "done")
    assert [line["action"] for line in lines(path.with_suffix(".1"))] == ["one", "two"]
    assert [line["action"] for line in lines(path)] == ["three"]


def test_a_subject_cannot_forge_a_line(log, path):
    log.write(Entry('x", "outcome": "done"}\n{"subject": "y', "\u2028", "upload"), "done")
    (line,) = lines(path)
    assert line["subject"] == 'x", "outcome": "done"}\\n{"subject": "y'
    assert path.read_bytes().isascii()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes of files")
def test_only_the_operator_reads_it(log, path):
    log.check()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_bytes() == b""


def test_a_log_that_cannot_be_written_is_an_error(tmp_path):
    log = AuditLog(tmp_path / "missing" / "audit.jsonl")
    for attempt in (log.check, lambda: log.write(Entry("ann", "", "upload"), "done")):
        with pytest.raises(ServiceUnavailableError, match="what is done cannot be recorded"):
            attempt()


def test_what_is_announced_has_a_line_before_it_is_done_and_one_after(log, path):
    with log.recording("ann", "", "submit") as entry:
        entry.job = "9" * 32
        log.announce(entry)
        assert [line["outcome"] for line in lines(path)] == ["begun"]
    assert [(line["action"], line["outcome"], line["job"]) for line in lines(path)] == [
        ("submit", "begun", "9" * 32),
        ("submit", "done", "9" * 32),
    ]


def test_what_cannot_be_announced_is_not_done(tmp_path):
    log = AuditLog(tmp_path / "missing" / "audit.jsonl")
    done = []
    with pytest.raises(ServiceUnavailableError), log.recording("ann", "", "submit") as entry:
        log.announce(entry)
        done.append(entry)
    assert done == []


def test_what_was_announced_and_done_is_no_error_where_its_end_cannot_be_written(log, path, caplog):
    with log.recording("ann", "", "submit") as entry:
        log.announce(entry)
        path.unlink()
        path.mkdir()
    assert "how something ended is missing in the audit log: submit done" in caplog.text


def test_what_fails_after_it_was_announced_is_raised_as_it_failed(log, path, caplog):
    with pytest.raises(NotFoundError, match="there is no such job"), log.recording("ann", "", "erase job") as entry:
        log.announce(entry)
        path.unlink()
        path.mkdir()
        raise NotFoundError("there is no such job")
    assert "erase job not-found" in caplog.text


def test_a_disk_without_room_is_found_out_before_anything_is_done(log, monkeypatch):
    log.check()
    monkeypatch.setattr("facefusion.service.audit.LEAST_ROOM", 1 << 60)
    with pytest.raises(ServiceUnavailableError, match="what is done cannot be recorded"):
        log.check()


def test_lines_of_many_threads_stay_whole(log, path):
    def work(name):
        for number in range(50):
            log.write(Entry(name, "", f"action {number}"), "done")

    threads = [threading.Thread(target=work, args=(f"user {index}",)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = lines(path)
    assert len(found) == 400
    for index in range(8):
        own = [line["action"] for line in found if line["subject"] == f"user {index}"]
        assert own == [f"action {number}" for number in range(50)]
