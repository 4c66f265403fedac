from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from facefusion.cli.main import main
from facefusion.core.errors import ContentRefusedError, MediaError
from facefusion.core.report import ContentReport, NotKept
from facefusion.media import output
from facefusion.observability.events import FrameHeld, ModelLoaded, Notice, StageProgress, StageStarted
from tests.cli.fakes import REPORT, FakeApplication

WORDS = ("run", "-s", "source.jpg", "-t", "target.mp4", "-o", "result.mp4", "--report", "report.json")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("source.jpg", "target.mp4"):
        Path(name).write_bytes(name.encode())
    return tmp_path


def written(name="report.json"):
    return json.loads(Path(name).read_text(encoding="utf-8"))


def test_a_run_that_is_done(folder):
    notices = ("Chosen for you.", NotKept("The cover is left out."))
    report = dataclasses.replace(
        REPORT,
        notices=notices,
        model_hashes={"yunet": "ab" * 32},
        faces_found=14,
        held_frames=(3,),
        dropped_frames=1,
        content=ContentReport(
            12, 1, (7.04,), {"open_nsfw": 0.25, "mine": 0.75}, {"open_nsfw": 0.8, "mine": 0.5}, ("mine",)
        ),
    )
    application = FakeApplication(report)

    def before(events, stop):
        for one in notices:
            events.emit(Notice(one))

    application.before_report = before
    assert main((*WORDS, "--log-level", "error"), application) == 0
    found = written()
    assert found["schema"] == 1
    assert found["program"] == {"name": "FaceFusion", "version": "4.0.0"}
    assert (found["status"], found["exit_code"], found["error"]) == ("done", 0, None)
    assert found["started"] <= found["ended"]
    assert found["settings"] == {
        "source_paths": ["source.jpg"],
        "target_path": "target.mp4",
        "output_path": "result.mp4",
        "log_level": "error",
        "report": "report.json",
    }
    assert [(one["role"], one["path"], one["bytes"], one["sha256"]) for one in found["inputs"]] == [
        (role, str(folder / name), 10, hashlib.sha256(name.encode()).hexdigest())
        for role, name in (("source", "source.jpg"), ("target", "target.mp4"))
    ]
    assert found["output"]["path"] == str(folder / "result.mp4")
    assert found["output"]["sha256"] == hashlib.sha256(b"result").hexdigest()
    assert found["models"] == [
        {"name": "yunet", "provider": "cpu", "licence": "MIT", "sha256": "ab" * 32},
        {
            "name": "mesh",
            "provider": "code",
            "licence": "that of this program; topology data Apache-2.0",
            "sha256": None,
        },
    ]
    assert found["frames"] == {
        "read": 11,
        "written": 10,
        "finished": 10,
        "resumed": 0,
        "held": [3],
        "damaged": 0,
        "lost": 0,
        "dropped": 1,
        "repeated": 0,
        "without_face": 2,
    }
    assert found["faces"] == {"found": 14, "changed": 12}
    assert found["content"] == {
        "filters": [
            {"name": "open_nsfw", "limit": 0.8, "highest": 0.25, "imported": False},
            {"name": "mine", "limit": 0.5, "highest": 0.75, "imported": True},
        ],
        "looked_at": 12,
        "counted": 1,
        "counted_at": [7.04],
    }
    assert found["seconds"] == {"start_up": 1.25, "processing": 0.5, "stages": {"decode": 0.1, "encode": 0.3}}
    assert found["peak_memory_bytes"] == 300 * 2**20
    assert found["peak_video_memory_bytes"] == 700 * 2**20
    assert found["notices"] == list(notices)
    assert found["not_kept"] == ["The cover is left out."]
    assert sorted(path.name for path in folder.iterdir()) == ["report.json", "result.mp4", "source.jpg", "target.mp4"]


def test_a_run_that_fails_reports_what_is_known(capsys):
    def before(events, stop):
        assert written()["status"] == "running"
        events.emit(Notice("Careful.", warning=True))
        events.emit(ModelLoaded("yunet", "cuda", 0.1))
        events.emit(ModelLoaded("custom/me", "cpu", 0.1))
        events.emit(StageStarted("process", 10))
        events.emit(StageProgress(4))
        events.emit(FrameHeld(2, "why"))

    application = FakeApplication(failure=MediaError("target.mp4 breaks off", "Repair it."))
    application.before_report = before
    assert main(WORDS, application) == 1
    found = written()
    assert (found["status"], found["exit_code"]) == ("failed", 1)
    assert found["error"] == {"kind": "MediaError", "message": "target.mp4 breaks off. Repair it."}
    assert found["output"] is None
    assert found["models"] == [
        {"name": "yunet", "provider": "cuda", "licence": "MIT", "sha256": None},
        {"name": "custom/me", "provider": "cpu", "licence": "of the user's own", "sha256": None},
    ]
    assert found["frames"] == {"finished": 4, "held": [2]}
    assert found["warnings"] == ["Careful."]
    assert "error: target.mp4 breaks off. Repair it.\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("failure", "status", "code", "message"),
    [
        (ContentRefusedError("target.mp4 is refused", "Choose another."), "refused", 3, None),
        (KeyboardInterrupt(), "stopped", 4, "Stopped by Ctrl-C; nothing half-written is left."),
        (ValueError("oops"), "failed", 1, None),
    ],
)
def test_every_end_has_a_status(failure, status, code, message):
    assert main(WORDS, FakeApplication(failure=failure)) == code
    found = written()
    assert (found["status"], found["exit_code"], found["error"]["kind"]) == (status, code, type(failure).__name__)
    assert message in (None, found["error"]["message"])


def test_a_stop_that_came_too_late():
    application = FakeApplication()
    application.before_report = lambda events, stop: stop.request("Ctrl-C")
    assert main(WORDS, application) == 4
    assert (written()["status"], written()["exit_code"]) == ("done", 4)


def test_a_request_that_is_refused_is_reported_too():
    assert main((*WORDS, "--target-path", "nowhere.mp4"), FakeApplication()) == 1
    found = written()
    assert (found["status"], found["error"]["kind"]) == ("failed", "InputError")
    assert found["inputs"][1] == {
        "role": "target",
        "path": str(Path("nowhere.mp4").absolute()),
        "bytes": None,
        "modified": None,
        "sha256": None,
    }


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ("source.jpg", "--report source.jpg is the source source.jpg itself. Name another file with --report."),
        ("./target.mp4", "--report target.mp4 is the target itself. Name another file with --report."),
        ("result.mp4", "--report result.mp4 is the output itself. Name another file with --report."),
        ("nowhere/a.json", "the output folder {}/nowhere does not exist. Create it. Name another file with --report."),
        ("folder", "folder is a folder. Name a file in it. Name another file with --report."),
        (
            ".jobs/failed/a.json",
            "--report .jobs/failed/a.json would lie among the jobs. Name another file with --report.",
        ),
        (
            "photo.jpg",
            "photo.jpg is there already and is not a report of this program. It stays as it is. "
            "Name another file with --report.",
        ),
    ],
)
def test_a_report_that_cannot_be_written_ends_the_run_before_it_begins(folder, capsys, report, message):
    (folder / "folder").mkdir()
    (folder / "photo.jpg").write_bytes(b"photo")
    application = FakeApplication()
    assert main((*WORDS[:-1], report), application) != 0
    assert capsys.readouterr() == ("", f"error: {message.format(folder)}\n")
    assert application.snapshots == []
    assert Path("source.jpg").read_bytes() == b"source.jpg"


def test_a_link_to_an_input_is_seen_through(folder, capsys):
    os.link("target.mp4", "other.json")
    assert main((*WORDS[:-1], "other.json"), FakeApplication()) == 2
    assert "--report other.json is the target itself" in capsys.readouterr().err


def test_a_full_disk_does_not_hide_why_a_run_failed(capsys, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    application = FakeApplication(failure=MediaError("target.mp4 breaks off", "Repair it."))
    application.before_report = lambda events, stop: monkeypatch.setattr(output, "flush", full)
    assert main((*WORDS, "--log-level", "error"), application) == 1
    assert capsys.readouterr().err == (
        "error: report.json cannot be written: the disk is full. Free some space. Name another file with --report.\n"
        "error: target.mp4 breaks off. Repair it.\n"
    )
    assert written()["status"] == "running"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_names_that_are_no_text_can_be_reported(folder):
    name = os.fsdecode(b"\xff\xfe.mp4")
    Path(name).write_bytes(b"1")
    assert main((*WORDS, "--target-path", name), FakeApplication()) == 0
    assert os.fsencode(written()["inputs"][1]["path"]) == os.fsencode(folder) + b"/\xff\xfe.mp4"


def test_a_result_whose_report_fails_is_there_all_the_same(capsys, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, "No space left on device")

    application = FakeApplication()
    application.before_report = lambda events, stop: monkeypatch.setattr(output, "flush", full)
    assert main((*WORDS, "--log-level", "error"), application) == 1
    assert capsys.readouterr().err == (
        "error: result.mp4 is complete, but not its report: report.json cannot be written: the disk is full. Free some "
        "space. Name another file with --report.\n"
    )


def test_a_refusal_is_reported_with_what_the_filter_saw():
    content = ContentReport(4, 2, (0.0, 1.0), {"open_nsfw": 0.97}, {"open_nsfw": 0.8})
    assert main(WORDS, FakeApplication(failure=ContentRefusedError("it is refused", "", content))) == 3
    assert written()["content"] == {
        "filters": [{"name": "open_nsfw", "limit": 0.8, "highest": 0.97, "imported": False}],
        "looked_at": 4,
        "counted": 2,
        "counted_at": [0.0, 1.0],
    }
