"""Job files and ids of FaceFusion, through the commands, with a program that does nothing behind them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from facefusion.core.errors import MediaError
from tests.cli.fakes import FakeApplication, caller

LONG = "a1" * 75
ODD = ["2024-01-01 12:30", "wedding: part 1", "im.", "x" * 101, "NUL", "who?"]
STEP = {"source_paths": ["source.jpg"], "target_path": "target.mp4", "output_path": "one.mp4"}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("source.jpg", "target.mp4"):
        Path(name).write_bytes(b"x")
    return tmp_path


@pytest.fixture
def call(capsys):
    return caller(capsys)


def digest(job_id):
    return hashlib.sha1(job_id.encode()).hexdigest()


def put(stem, *steps, status="queued"):
    """Write a file as FaceFusion does; of a step, its status and its settings."""
    table = {
        "version": "1",
        "date_created": "2025-01-01T12:00:00+01:00",
        "date_updated": None,
        "steps": [{"status": state, "args": {**STEP, **args}} for state, args in steps],
    }
    path = Path(".jobs", status, f"{stem}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(table, indent=4))


def files():
    return sorted(str(path.relative_to(".jobs")) for path in Path(".jobs").glob("*/*.json"))


@pytest.mark.parametrize("stem", [LONG, "a:b?", " c ", "x" * 245])
def test_a_file_that_is_there_is_worked_with_whatever_its_name(call, stem):
    put(stem, ("queued", {}))
    code, out, _ = call("job-list", "queued")
    assert (code, stem in out) == (0, True)
    assert call("job-run", stem)[:2] == (0, "one.mp4\n")
    assert files() == [f"completed/{stem}.json"]
    assert call("job-delete", stem) == (0, "", f"Job {stem} is deleted.\n")
    assert files() == []


def test_a_long_id_is_changed_and_retried_like_any_other(call):
    put(LONG, ("drafted", {}), status="drafted")
    assert call("job-add-step", LONG, "-t", "target.mp4", "-o", "two.mp4")[0] == 0
    assert call("job-remove-step", LONG, "1")[0] == 0
    assert call("job-submit-all") == (0, "", f"Job {LONG} is queued.\n")
    assert call("job-run-all", application=FakeApplication(failure=MediaError("that breaks off")))[0] == 1
    assert call("job-retry", LONG)[:2] == (0, "one.mp4\n")


def test_the_commands_for_all_end_well_with_any_name(call):
    for stem in (LONG, "a:b?"):
        put(stem, ("queued", {}))
    assert call("job-run-all")[:2] == (0, "one.mp4\none.mp4\n")
    assert call("job-delete-all")[0] == 0
    assert files() == []


@pytest.mark.parametrize("job_id", ODD)
def test_any_id_that_facefusion_took_makes_a_job(call, job_id):
    assert call("job-create", job_id) == (0, "", f"Job {job_id} is made.\n")
    assert files() == [f"drafted/{digest(job_id)}.json"]
    assert call("job-create", job_id)[::2] == (
        1,
        f"error: there is a job {job_id} already (drafted). Choose another id.\n",
    )
    assert call("job-add-step", job_id, "-t", "target.mp4", "-o", "one.mp4")[0] == 0
    assert call("job-remix-step", job_id, "0", "-o", "one.mp4", "--processors", "face_enhancer")[0] == 0
    assert job_id in call("job-list", "drafted")[1].splitlines()[1]
    assert call("job-submit-all") == (0, "", f"Job {job_id} is queued.\n")
    code, out, err = call("job-run", job_id)
    assert (code, out) == (0, "one.mp4\n")
    assert err.startswith(f"job {job_id}: 2 steps\n")
    assert err.endswith(f"Job {job_id} is complete.\n")
    assert f"job {digest(job_id)}" not in err
    assert call("job-delete-all") == (0, "", f"Job {job_id} is deleted.\n")


def test_an_id_of_which_facefusion_took_the_hash_is_said_as_it_was_typed_and_kept(call):
    put(digest("my job!"), ("queued", {}))
    assert digest("my job!") in call("job-list", "queued")[1]
    code, out, err = call("job-run", "my job!", application=FakeApplication(failure=MediaError("that breaks off")))
    assert (code, out) == (1, "")
    assert err.startswith("job my job!: 1 step\n")
    assert "error: step 0 of the job my job!, target target.mp4 with source.jpg: that breaks off.\n" in err
    assert err.endswith(
        "error: the job my job! has failed: 1 of 1 steps. job-retry 'my job!' does again what is not complete.\n"
    )
    assert "my job!" in call("job-list", "failed")[1]
    assert call("job-retry-all")[2].startswith("job my job!: 1 step\n")
    assert files() == [f"completed/{digest('my job!')}.json"]


def test_a_copy_of_a_file_under_another_name_is_another_job(call):
    call("job-create", "who?")
    path = Path(".jobs/drafted", f"{digest('who?')}.json")
    path.with_name("copy.json").write_bytes(path.read_bytes())
    path.unlink()
    assert call("job-list", "drafted")[1].splitlines()[1].split()[0] == "copy"


def test_a_step_that_failed_in_a_queued_job_is_done(call):
    put("old", ("completed", {}), ("failed", {"output_path": "two.mp4"}), ("queued", {"output_path": "three.mp4"}))
    Path("one-old-0.mp4").write_bytes(b"result")
    application = FakeApplication()
    assert call("job-run", "old", application=application)[:2] == (0, "one.mp4\ntwo.mp4\nthree.mp4\n")
    assert len(application.snapshots) == 2
    assert files() == ["completed/old.json"]


def test_a_step_that_failed_without_a_reason_is_listed_without_one(call):
    put("old", ("failed", {}), status="failed")
    assert len(call("job-list", "failed")[1].splitlines()) == 2


def test_a_setting_that_is_not_known_is_passed_over_and_named_once(call):
    put("old", *(("queued", {"output_path": f"{name}.mp4", "face_polish": 3}) for name in ("one", "two", "three")))
    assert call("job-list", "queued")[::2] == (0, "")
    code, out, err = call("job-run", "old", "--log-level", "warn")
    assert (code, out) == (0, "one.mp4\ntwo.mp4\nthree.mp4\n")
    assert err == "warning: face_polish is no setting that is known here, and is passed over (job old, step 0)\n"


def test_a_step_without_a_target_says_how_it_is_changed_which_works(call):
    put("old", ("queued", {"target_path": None}))
    code, _, err = call("job-run", "old", "--log-level", "warn")
    assert code == 1
    assert err.startswith(
        "error: step 0 of the job old, output one.mp4: no target is given. Name the image or video to change with "
        "--target-path. A step's options are changed by another step in its place: job-insert-step old 0, then "
        "job-remove-step old 1 and job-retry old.\n"
    )
    assert call("job-list", "failed")[1].splitlines()[-1] == (
        "  step 0: output one.mp4: no target is given. Name the image or video to change with --target-path. A step's "
        "options are changed by another step in its place, with job-insert-step and job-remove-step."
    )
    assert call("job-insert-step", "old", "0", "-t", "target.mp4", "-o", "one.mp4")[0] == 0
    assert call("job-remove-step", "old", "1")[0] == 0
    assert call("job-retry", "old")[:2] == (0, "one.mp4\n")
