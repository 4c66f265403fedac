"""The commands that run jobs, and the run that is a job, with a program that does nothing behind them."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from pathlib import Path

import pytest

from facefusion.config.origin import DEFAULT
from facefusion.config.settings import MiscSettings, PathsSettings, ProcessorsSettings
from facefusion.core.errors import ContentRefusedError, MediaError, ModelError, SigningError, UsageError
from facefusion.jobs.outputs import Outputs
from tests.cli.fakes import REPORT, FakeApplication, caller
from tests.config.groups import SampleDetector

REQUEST = ("-s", "source.jpg", "-t", "target.mp4", "-o", "result.mp4")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("source.jpg", "target.mp4", "other.mp4", "picture.png"):
        Path(name).write_bytes(b"x")
    return tmp_path


@pytest.fixture
def call(capsys):
    return caller(capsys)


@pytest.fixture
def queue(call):
    """Queue a job of steps, each the words of its options."""

    def make(job_id, *steps):
        assert call("job-create", job_id)[0] == 0
        for words in steps:
            assert call("job-add-step", job_id, *words)[0] == 0
        assert call("job-submit", job_id)[0] == 0

    return make


def change_of(index):
    return (
        "A step's options are changed by another step in its place: "
        f"job-insert-step demo {index}, then job-remove-step demo {index + 1} and job-retry demo."
    )


def job_name(file):
    return file.partition("/")[2].removesuffix(".json")


def job_files():
    return {f"{path.parent.name}/{path.name}": json.loads(path.read_text()) for path in Path(".jobs").glob("*/*.json")}


class Failing(FakeApplication):
    """Fails on one target."""

    def __init__(self, target, failure):
        super().__init__()
        self.target = target
        self.error = failure

    def execute(self, snapshot, events, stop):
        self.failure = self.error if str(snapshot.get(PathsSettings).target_path) == self.target else None
        return super().execute(snapshot, events, stop)


def test_a_headless_run_is_a_job_of_one_step_that_is_completed(call):
    code, out, err = call("headless-run", *REQUEST, "--face-detector-score", "0.25")
    assert (code, out) == (0, "result.mp4\n")
    assert "job" not in err
    ((name, job),) = job_files().items()
    assert re.fullmatch(r"completed/headless-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d\.json", name)
    (step,) = job["steps"]
    assert step["status"] == "completed"
    assert step["args"]["target_path"] == "target.mp4"
    assert step["args"]["source_paths"] == ["source.jpg"]
    assert step["args"]["face_detector_score"] == 0.25
    assert "jobs_path" not in step["args"]


def test_run_makes_no_job(call):
    assert call("run", *REQUEST)[:2] == (0, "result.mp4\n")
    assert not Path(".jobs").exists()


def test_a_headless_run_and_a_run_are_the_same_but_for_the_job(call):
    one, two = FakeApplication(), FakeApplication()
    first, second = call("run", *REQUEST, application=one), call("headless-run", *REQUEST, application=two)
    assert first == second
    (run,), (headless,) = one.snapshots, two.snapshots
    values = [{spec.name: (one.value(spec), one.origin(spec.name)) for spec in one.schema} for one in (run, headless)]
    assert values[0] == values[1]


def test_a_headless_run_that_fails_stays_as_a_failed_job_which_is_retried(call):
    failure = MediaError("target.mp4 breaks off", "Repair it.")
    found = call("headless-run", *REQUEST, application=FakeApplication(failure=failure))
    ((name, job),) = job_files().items()
    job_id = Path(name).stem
    assert found[:2] == (1, "")
    assert found[2].endswith(
        f"This run is kept as the job {job_id}; job-retry {job_id} does it again.\nerror: {failure}\n"
    )
    assert name.startswith("failed/")
    assert job["steps"][0]["error"] == str(failure)
    application = FakeApplication()
    assert call("job-retry", job_id, application=application)[:2] == (0, "result.mp4\n")
    assert [snapshot.get(PathsSettings).target_path for snapshot in application.snapshots] == [Path("target.mp4")]
    assert list(job_files()) == [f"completed/{job_id}.json"]


@pytest.mark.parametrize(
    ("failure", "exit_code"),
    [
        (UsageError("the video is trimmed to nothing", "Give --trim-frame-end a larger number."), 2),
        (ModelError("the model inswapper_128 is not in this version", "Choose another with --face-swapper-model."), 2),
        (ContentRefusedError("it is refused", "Use another target."), 3),
    ],
)
def test_a_headless_run_that_would_fail_again_is_not_said_to_be_kept(call, failure, exit_code):
    code, _, err = call("headless-run", *REQUEST, "--log-level", "info", application=FakeApplication(failure=failure))
    assert (code, err.splitlines()[-1]) == (exit_code, f"error: {failure}")
    assert "job" not in err
    ((name, job),) = job_files().items()
    assert name.startswith("failed/")
    assert job["steps"][0]["error"].startswith(f"target target.mp4 with source.jpg: {failure}")


@pytest.mark.parametrize("command", ["run", "headless-run"])
def test_a_result_that_cannot_be_signed_has_a_status_of_its_own(call, command):
    failure = SigningError("result.mp4: the card is gone", "The result is whole, and is kept unsigned as result.part.")
    code, out, err = call(command, *REQUEST, application=FakeApplication(failure=failure))
    assert (code, out) == (7, "")
    assert err.splitlines()[-1] == f"error: {failure}"


def test_a_headless_run_that_is_stopped_stays_queued_and_goes_on(call):
    def stop_now(events, stop):
        stop.request("Ctrl-C")
        stop.check()

    application = FakeApplication()
    application.before_report = stop_now
    code, out, err = call("headless-run", *REQUEST, application=application)
    ((name, job),) = job_files().items()
    job_id = Path(name).stem
    assert (code, out) == (4, "")
    assert err.endswith(
        f"The job {job_id} stays queued; job-run {job_id} goes on with it.\n"
        "Stopped by Ctrl-C; nothing half-written is left.\n"
    )
    assert (name, job["steps"][0]["status"]) == (f"queued/{job_id}.json", "queued")
    assert call("job-run", job_id)[:2] == (0, "result.mp4\n")


def test_a_failure_after_a_stop_leaves_the_job_queued(call):
    application = FakeApplication(failure=MediaError("pip ended"))
    application.before_report = lambda events, stop: stop.request("Ctrl-C")
    assert call("headless-run", *REQUEST, application=application)[0] == 4
    assert [name.split("/")[0] for name in job_files()] == ["queued"]


def test_a_stop_that_comes_too_late_completes_the_job(call):
    application = FakeApplication()
    application.before_report = lambda events, stop: stop.request("Ctrl-C")
    code, out, err = call("headless-run", *REQUEST, "--log-level", "warn", application=application)
    assert (code, out, err) == (4, "", "The stop came too late: result.mp4 was complete.\n")
    assert [name.split("/")[0] for name in job_files()] == ["completed"]


def test_held_frames_fail_a_headless_run_that_says_so(call):
    application = FakeApplication(dataclasses.replace(REPORT, held_frames=(3,)))
    code, out, err = call("headless-run", *REQUEST, "--fail-on-held-frames", application=application)
    assert (code, out) == (1, "result.mp4\n")
    assert err.endswith("error: 1 of 10 frames were passed through unchanged.\n")
    ((name, job),) = job_files().items()
    assert name.startswith("failed/")
    fault = "target target.mp4 with source.jpg: 1 of 10 frames were passed through unchanged."
    assert job["steps"][0]["error"] == fault
    # Without the option it is whole.
    assert call("job-retry", Path(name).stem, application=application)[:2] == (0, "result.mp4\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no target is given. Name the image or video to change with --target-path."),
        (("-t", "target.mp4"), "no output is given. Name the file to write with --output-path."),
        (
            ("-t", "nowhere.mp4", "-o", "result.mp4"),
            "target nowhere.mp4: there is no such file. Check the path given with --target-path.",
        ),
        (
            ("-t", "target.mp4", "-o", "nowhere/result.mp4"),
            "output nowhere/result.mp4: the folder nowhere does not exist. Create it first, or choose another "
            "--output-path.",
        ),
        (
            (*REQUEST, "--report", "target.mp4"),
            "--report target.mp4 is the target itself. Name another file with --report.",
        ),
    ],
)
def test_a_headless_run_that_cannot_begin_makes_no_job(call, words, message):
    application = FakeApplication()
    code, out, err = call("headless-run", *words, application=application)
    assert (out, err) == ("", f"error: {message}\n")
    assert code in (1, 2)
    assert application.snapshots == []
    assert not Path(".jobs").exists()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs permissions that hold")
def test_a_jobs_folder_that_cannot_be_written_is_said_before_any_work(call):
    Path("locked").mkdir(mode=0o500)
    application = FakeApplication()
    code, _, err = call("headless-run", *REQUEST, "--jobs-path", "locked/jobs", application=application)
    assert code == 1
    assert err.endswith("you may not write there. Choose another folder with --jobs-path.\n")
    assert application.snapshots == []


def test_a_jobs_folder_that_is_a_file_is_said_before_any_work(call):
    application = FakeApplication()
    code, _, err = call("headless-run", *REQUEST, "--jobs-path", "target.mp4", application=application)
    assert code == 1
    assert err.splitlines()[-1].startswith("error: target.mp4 cannot be written: ")
    assert err.endswith("Choose another folder with --jobs-path.\n")
    assert application.snapshots == []


def test_a_report_of_a_headless_run_is_that_of_a_run(call):
    call("run", *REQUEST, "--report", "one.json")
    call("headless-run", *REQUEST, "--report", "two.json")
    one, two = (json.loads(Path(name).read_text()) for name in ("one.json", "two.json"))
    for report in (one, two):
        for key in ("started", "ended"):
            del report[key]
        del report["settings"]["report"]
        report["output"].pop("modified")
    assert one == two


def test_a_report_that_fails_leaves_a_completed_job(call, monkeypatch):
    def remove_folder(events, stop):
        Path("reports/report.json").unlink()
        Path("reports").rmdir()

    Path("reports").mkdir()
    application = FakeApplication()
    application.before_report = remove_folder
    code, _, err = call("headless-run", *REQUEST, "--report", "reports/report.json", application=application)
    assert code == 1
    assert "error: result.mp4 is complete, but not its report: " in err
    assert [name.split("/")[0] for name in job_files()] == ["completed"]


def test_run_serves_where_nothing_is_asked_for_on_the_command_line(call, monkeypatch):
    served = []

    def serve(context):
        served.append(context)
        return 0

    monkeypatch.setattr("facefusion.cli.commands.serve.execute", serve)
    Path("facefusion.ini").write_text("[paths]\noutput_path = results\n", encoding="utf-8")
    for words in (("run",), ("run", "-s", "source.jpg")):
        assert call(*words)[0] == 0
    assert len(served) == 2
    code, _, err = call("run", "-o", "result.mp4")
    assert (code, err) == (2, "error: no target is given. Name the image or video to change with --target-path.\n")


def test_run_processes_what_an_ini_file_names_in_full(call):
    Path("facefusion.ini").write_text("[paths]\ntarget_path = target.mp4\noutput_path = result.mp4\n", encoding="utf-8")
    assert call("run")[:2] == (0, "result.mp4\n")


def test_a_job_says_what_it_does_and_writes_what_it_made(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"), ("-t", "picture.png", "-o", "two.png"))
    code, out, err = call("job-run", "demo")
    assert (code, out) == (0, "one.mp4\ntwo.png\n")
    assert err.startswith(
        "job demo: 2 steps\nstep 1 of 2: one.mp4\nsource      none\ntarget      target.mp4\noutput      one.mp4\n"
    )
    assert "step 2 of 2: two.png\n" in err
    assert err.endswith("Job demo is complete.\n")


def test_quiet_runs_say_only_what_they_made(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"))
    assert call("job-run", "demo", "--log-level", "warn") == (0, "one.mp4\n", "")


def test_what_is_asked_for_comes_from_the_file_and_how_it_is_done_from_the_command(call, queue):
    queue(
        "demo", ("-t", "target.mp4", "-o", "one.mp4", "--face-detector-score", "0.25", "--processors", "face_enhancer")
    )
    Path("facefusion.ini").write_text(
        "[face_detector]\nface_detector_score = 0.75\n[processors]\nprocessors = face_swapper\n"
        "[paths]\nsource_paths = source.jpg\n[misc]\nhalt_on_error = yes\n",
        encoding="utf-8",
    )
    application = FakeApplication()
    assert call("job-run", "demo", "--temp-path", "temp", application=application)[0] == 0
    (snapshot,) = application.snapshots
    assert snapshot.get(SampleDetector).face_detector_score == 0.25
    assert snapshot.get(ProcessorsSettings).processors == ("face_enhancer",)
    assert snapshot.get(PathsSettings).source_paths == ()
    assert snapshot.get(PathsSettings).temp_path == Path("temp")
    assert snapshot.get(MiscSettings).halt_on_error
    assert str(snapshot.origin("face_detector_score")) == "from job demo, step 0"
    assert snapshot.origin("face_detector_margin") == DEFAULT


def test_a_step_that_fails_is_said_once_and_the_others_are_done(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"), ("-t", "other.mp4", "-o", "two.mp4"))
    application = Failing("target.mp4", MediaError("target.mp4 breaks off", "Repair it."))
    code, out, err = call("job-run", "demo", "--log-level", "warn", application=application)
    assert (code, out) == (1, "two.mp4\n")
    assert err == (
        "error: step 0 of the job demo: target.mp4 breaks off. Repair it.\n"
        "error: the job demo has failed: 1 of 2 steps. job-retry demo does again what is not complete.\n"
    )
    assert job_files()["failed/demo.json"]["steps"][0]["error"] == "target.mp4 breaks off. Repair it."
    assert call("job-retry", "demo", "--log-level", "warn") == (0, "one.mp4\n", "")


def test_halt_on_error_ends_a_job(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"), ("-t", "other.mp4", "-o", "two.mp4"))
    application = Failing("target.mp4", MediaError("target.mp4 breaks off"))
    code, out, _ = call("job-run", "demo", "--halt-on-error", application=application)
    assert (code, out) == (1, "")
    assert [step["status"] for step in job_files()["failed/demo.json"]["steps"]] == ["failed", "queued"]


@pytest.mark.parametrize(
    ("failure", "code", "fault"),
    [
        (ContentRefusedError("target.mp4 is refused", "Choose another."), 3, "target.mp4 is refused. Choose another."),
        (
            MemoryError(),
            1,
            "target target.mp4: memory does not suffice. Set --system-memory-limit, or process a smaller file.",
        ),
        (ZeroDivisionError("oops"), 1, "target target.mp4: unexpected ZeroDivisionError: oops in fakes.py, line "),
    ],
)
def test_whatever_befalls_a_step_is_written_down(call, queue, failure, code, fault):
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"))
    assert call("job-run", "demo", application=FakeApplication(failure=failure))[0] == code
    assert job_files()["failed/demo.json"]["steps"][0]["error"].startswith(fault)


REFUSAL = ContentRefusedError("target.mp4 is refused", "Choose another.")


def test_a_job_is_rejected_where_nothing_failed_but_what_was_refused(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"), ("-t", "other.mp4", "-o", "two.mp4"))
    application = Failing("target.mp4", REFUSAL)
    code, out, err = call("job-run", "demo", "--log-level", "warn", application=application)
    assert (code, out) == (3, "two.mp4\n")
    assert err.splitlines()[-1] == "error: the job demo was rejected: the content filter refused 1 of 2 steps."
    steps = job_files()["failed/demo.json"]["steps"]
    assert [(step["status"], step.get("refused")) for step in steps] == [("failed", True), ("completed", None)]
    listed = call("job-list", "failed")[1].splitlines()
    assert listed[1].split()[-1] == "rejected"
    assert listed[2] == "  step 0: target.mp4 is refused. Choose another."
    assert call("job-retry", "demo", "--log-level", "warn") == (0, "one.mp4\n", "")
    assert "refused" not in str(job_files()["completed/demo.json"])


def test_a_job_has_failed_where_another_step_failed_too(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"), ("-t", "gone.mp4", "-o", "two.mp4"))
    code, _, err = call("job-run", "demo", "--log-level", "warn", application=Failing("target.mp4", REFUSAL))
    assert code == 1
    assert err.splitlines()[-1].startswith("error: the job demo has failed: 2 of 2 steps. ")


@pytest.mark.parametrize(("second", "code"), [("target.mp4", 3), ("gone.mp4", 1)])
def test_several_jobs_end_as_rejected_where_all_that_failed_are(call, queue, second, code):
    queue("one", ("-t", "target.mp4", "-o", "one.mp4"))
    queue("two", ("-t", second, "-o", "two.mp4"))
    queue("three", ("-t", "other.mp4", "-o", "three.mp4"))
    assert call("job-run-all", application=Failing("target.mp4", REFUSAL))[:2] == (code, "three.mp4\n")


def test_held_frames_fail_a_step_where_the_user_wants_it(call, queue):
    application = FakeApplication(dataclasses.replace(REPORT, held_frames=(3, 4)))
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"))
    code, out, err = call("job-run", "demo", "--fail-on-held-frames", "--log-level", "warn", application=application)
    assert (code, out) == (1, "one.mp4\n")
    assert err == (
        "error: 2 of 10 frames were passed through unchanged.\n"
        "error: the job demo has failed: 1 of 1 steps. job-retry demo does again what is not complete.\n"
    )
    assert call("job-retry", "demo", application=application)[0] == 0


def test_a_job_that_is_stopped_goes_on_where_it_was(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"), ("-t", "other.mp4", "-o", "two.mp4"))

    class Stopping(FakeApplication):
        def execute(self, snapshot, events, stop):
            if self.snapshots:
                stop.request("Ctrl-C")
                stop.check()
            return super().execute(snapshot, events, stop)

    code, out, err = call("job-run", "demo", "--log-level", "info", application=Stopping())
    assert (code, out) == (4, "one.mp4\n")
    assert err.endswith("Stopped by Ctrl-C; the job demo stays queued, and job-run demo goes on with it.\n")
    assert [step["status"] for step in job_files()["queued/demo.json"]["steps"]] == ["completed", "queued"]
    application = FakeApplication()
    assert call("job-run", "demo", application=application)[:2] == (0, "two.mp4\n")
    assert len(application.snapshots) == 1


def test_a_late_stop_of_a_job_never_reports_success(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"))
    application = FakeApplication()
    application.before_report = lambda events, stop: stop.request("Ctrl-C")
    code, out, err = call("job-run", "demo", "--log-level", "warn", application=application)
    assert (code, out, err) == (4, "", "The stop came too late: the job demo was completed.\n")
    assert list(job_files()) == ["completed/demo.json"]


def test_a_chain_works_on_the_file_of_the_step_before(call, queue):
    call("job-create", "demo")
    call("job-add-step", "demo", "-t", "target.mp4", "-o", "result.mp4")
    call("job-remix-step", "demo", "0", "-o", "result.mp4", "--processors", "face_enhancer")
    call("job-submit", "demo")
    application = FakeApplication()
    assert call("job-run", "demo", application=application)[:2] == (0, "result.mp4\n")
    first, second = (snapshot.get(PathsSettings) for snapshot in application.snapshots)
    assert (first.target_path, first.output_path) == (Path("target.mp4"), Path("result-demo-0.mp4"))
    assert (second.target_path, second.output_path) == (Path("result-demo-0.mp4"), Path("result-demo-1.mp4"))
    assert sorted(path.name for path in Path.cwd().glob("result*")) == ["result.mp4"]


def test_an_output_that_is_a_folder_takes_the_targets_name(call, queue):
    Path("out").mkdir()
    queue("demo", ("-t", "target.mp4", "-o", "out"), ("-t", "picture.png", "-o", "out"))
    assert call("job-run", "demo")[:2] == (0, "out/target.mp4\nout/picture.png\n")


def test_a_file_that_is_not_there_fails_its_step(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "nowhere/one.mp4"), ("-t", "gone.mp4", "-o", "two.mp4"))
    code, _, err = call("job-run", "demo", "--log-level", "warn")
    assert code == 1
    assert err == (
        "error: step 0 of the job demo, target target.mp4: output nowhere/one.mp4: the folder nowhere does not exist. "
        f"Create it first, or choose another --output-path. {change_of(0)}\n"
        "error: step 1 of the job demo: target gone.mp4: there is no such file. "
        f"Check the path given with --target-path. {change_of(1)}\n"
        "error: the job demo has failed: 2 of 2 steps. job-retry demo does again what is not complete.\n"
    )


def test_a_bad_value_in_a_job_file_fails_its_step(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"), ("-t", "other.mp4", "-o", "two.mp4"))
    path = Path(".jobs/queued/demo.json")
    table = json.loads(path.read_text())
    table["steps"][0]["args"]["face_detector_score"] = 1.5
    path.write_text(json.dumps(table))
    code, out, err = call("job-run", "demo", "--log-level", "warn")
    assert (code, out) == (1, "two.mp4\n")
    assert err.startswith(
        "error: step 0 of the job demo, target target.mp4: face_detector_score = 1.5: must be between 0 and 1 "
        f"(from job demo, step 0). {change_of(0)}\n"
    )


def test_a_job_of_facefusion_is_run(call):
    Path(".jobs/queued").mkdir(parents=True)
    args = {"source_paths": ["source.jpg"], "target_path": "target.mp4", "output_path": "one.MP4"}
    job = {
        "version": "1",
        "date_created": "2025-01-01T12:00:00+01:00",
        "date_updated": None,
        "steps": [{"status": "queued", "args": {**args, "face_detector_score": 0.5, "processors": ["face_swapper"]}}],
    }
    Path(".jobs/queued/old.json").write_text(json.dumps(job, indent=4))
    assert call("job-run", "old")[:2] == (0, "one.MP4\n")
    assert job_files()["completed/old.json"]["steps"][0]["status"] == "completed"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("job-run", "none"), "there is no job none. job-list shows those of each status."),
        (("job-retry", "none"), "there is no job none. job-list shows those of each status."),
        (("job-run-all",), "there is no queued job. Queue one with job-submit."),
        (("job-retry-all",), "there is no failed job. Those that are queued are run by job-run-all."),
    ],
)
def test_nothing_to_do_is_status_1_and_one_line(call, words, message):
    assert call(*words) == (1, "", f"error: {message}\n")


def test_a_bad_id_is_status_2(call):
    code, _, err = call("job-run", "a/demo")
    assert code == 2
    assert err.startswith("error: the job id 'a/demo' holds what no id may hold: '/'")


def test_jobs_of_other_statuses_are_not_run(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"))
    assert call("job-retry", "demo") == (
        1,
        "",
        "error: the job demo cannot be retried: it is queued. Run it with job-run demo.\n",
    )
    call("job-run", "demo")
    assert call("job-run", "demo")[::2] == (
        1,
        "error: the job demo cannot be run: it is completed. Make another job.\n",
    )


def test_all_jobs_are_run_and_one_bad_one_does_not_stop_the_others(call, queue):
    for name in ("one", "two", "three"):
        queue(name, ("-t", "other.mp4" if name == "two" else "target.mp4", "-o", f"{name}-result.mp4"))
    application = Failing("other.mp4", MediaError("other.mp4 breaks off"))
    code, out, _ = call("job-run-all", application=application)
    assert (code, out) == (1, "one-result.mp4\nthree-result.mp4\n")
    assert sorted(job_files()) == ["completed/one.json", "completed/three.json", "failed/two.json"]
    assert call("job-retry-all")[:2] == (0, "two-result.mp4\n")
    assert call("job-run-all")[0] == 1


def test_halt_on_error_ends_the_run_of_all(call, queue):
    for name in ("one", "two", "three"):
        queue(name, ("-t", "other.mp4" if name == "two" else "target.mp4", "-o", f"{name}-result.mp4"))
    application = Failing("other.mp4", MediaError("other.mp4 breaks off"))
    code, out, _ = call("job-run-all", "--halt-on-error", application=application)
    assert (code, out) == (1, "one-result.mp4\n")
    assert sorted(job_files()) == ["completed/one.json", "failed/two.json", "queued/three.json"]


def test_the_jobs_folder_may_be_anywhere(call, folder):
    place = str(folder / "jobs [1]")
    for words in (
        ("job-create", "demo"),
        ("job-add-step", "demo", "-t", "target.mp4", "-o", "one.mp4"),
        ("job-submit", "demo"),
    ):
        assert call(*words, "--jobs-path", place)[0] == 0
    assert call("job-run", "demo", "--jobs-path", place)[:2] == (0, "one.mp4\n")


class StoppingAt(FakeApplication):
    """Is asked to stop while it works on one target."""

    def __init__(self, target):
        super().__init__()
        self.target = target

    def execute(self, snapshot, events, stop):
        if str(snapshot.get(PathsSettings).target_path) == self.target:
            stop.request("Ctrl-C")
            stop.check()
        return super().execute(snapshot, events, stop)


def test_a_stop_of_all_jobs_leaves_them_queued(call, queue):
    for name, target in (("one", "target.mp4"), ("two", "other.mp4"), ("three", "target.mp4")):
        queue(name, ("-t", target, "-o", f"{name}-result.mp4"))
    code, out, err = call("job-run-all", "--log-level", "warn", application=StoppingAt("other.mp4"))
    assert (code, out, err) == (4, "one-result.mp4\n", "Stopped by Ctrl-C; job-run-all goes on where it was.\n")
    assert sorted(job_files()) == ["completed/one.json", "queued/three.json", "queued/two.json"]
    assert call("job-run-all")[:2] == (0, "two-result.mp4\nthree-result.mp4\n")


def test_a_stop_of_all_retries_says_which_job_is_queued(call, queue):
    for name in ("one", "two"):
        queue(name, ("-t", "other.mp4", "-o", f"{name}-result.mp4"))
    call("job-run-all", application=FakeApplication(failure=MediaError("other.mp4 breaks off")))
    code, _, err = call("job-retry-all", "--log-level", "warn", application=StoppingAt("other.mp4"))
    assert (code, err) == (
        4,
        "Stopped by Ctrl-C; the job one is queued. job-run one goes on with it, job-retry-all with the others.\n",
    )
    assert sorted(job_files()) == ["failed/two.json", "queued/one.json"]


def test_a_stop_that_comes_too_late_for_all_jobs(call, queue):
    queue("one", ("-t", "target.mp4", "-o", "one-result.mp4"))
    application = FakeApplication()
    application.before_report = lambda events, stop: stop.request("Ctrl-C")
    assert call("job-run-all", "--log-level", "warn", application=application) == (
        4,
        "",
        "The stop came too late: all jobs were run.\n",
    )


def test_what_is_said_of_a_defect_in_one_of_several_jobs(call, queue, monkeypatch):
    for name in ("one", "two"):
        queue(name, ("-t", "target.mp4", "-o", f"{name}-result.mp4"))
    outputs = Outputs

    def break_once(job):
        if job.id == "one":
            raise ValueError("embedded null byte")
        return outputs(job)

    monkeypatch.setattr("facefusion.jobs.run.Outputs", break_once)
    code, out, err = call("job-run-all", "--log-level", "error")
    assert (code, out) == (1, "two-result.mp4\n")
    assert re.match(r"error: unexpected ValueError: embedded null byte in test_running.py, line \d+\. This is a d", err)
    assert sorted(job_files()) == ["completed/two.json", "failed/one.json"]


def test_a_headless_run_is_done_once_whatever_is_made_of_its_job_meanwhile(call):
    application = FakeApplication()

    def edit(events, stop):
        (file,) = Path(".jobs/queued").glob("*.json")
        table = json.loads(file.read_text())
        table["steps"][0]["args"]["output_path"] = "other-result.mp4"
        file.write_text(json.dumps(table))

    application.before_report = edit
    code, out, err = call("headless-run", *REQUEST, application=application)
    assert (code, out, len(application.snapshots)) == (0, "result.mp4\n", 1)
    assert "step 0 of the job headless-" in err
    ((name, job),) = job_files().items()
    assert name.startswith("failed/")
    assert job["steps"][0]["error"] == "it was changed while headless-run worked on it as it was before"
    assert call("job-retry", job_name(name))[:2] == (0, "other-result.mp4\n")


def test_a_headless_run_whose_job_goes_away_names_what_it_made(call):
    application = FakeApplication()

    def forget(events, stop):
        for file in Path(".jobs/queued").glob("*.json"):
            file.unlink()

    application.before_report = forget
    code, out, err = call("headless-run", *REQUEST, "--log-level", "warn", application=application)
    assert (code, out) == (0, "result.mp4\n")
    assert re.fullmatch(
        r"warning: step 0 of the job (headless\S+) has made result\.mp4, which cannot be written down: there is no job "
        r"\1\. job-list shows those of each status\.\n",
        err,
    )


def test_an_output_is_named_though_its_job_goes_away(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "result.mp4"))
    application = FakeApplication()
    application.before_report = lambda events, stop: Path(".jobs/queued/demo.json").unlink()
    code, out, err = call("job-run", "demo", "--log-level", "warn", application=application)
    assert (code, out) == (1, "result.mp4\n")
    assert err.startswith("error: step 0 of the job demo has made result.mp4, which cannot be written down: there is n")


def test_machines_are_told_of_stops_alike(call, queue):
    queue("demo", ("-t", "other.mp4", "-o", "result.mp4"))

    def last(*words, application):
        code, _, err = call(*words, "--log-format", "json", application=application)
        said = json.loads(err.splitlines()[-1])
        return code, {key: said.get(key) for key in ("event", "kind", "exit_code")}

    request = ("-s", "source.jpg", "-t", "other.mp4", "-o", "result.mp4")
    stopped = (4, {"event": "stopped", "kind": "Stopped", "exit_code": 4})
    for words in (("run", *request), ("headless-run", *request), ("job-run-all",), ("job-run", "demo")):
        assert last(*words, application=StoppingAt("other.mp4")) == stopped
    late = FakeApplication()
    late.before_report = lambda events, stop: stop.request("Ctrl-C")
    for words in (("run", *request), ("headless-run", *request), ("job-run", "demo")):
        assert last(*words, application=late) == (4, stopped[1] | {"event": "stopped_too_late"})


def test_machines_are_told_of_jobs_too(call, queue):
    queue("demo", ("-t", "target.mp4", "-o", "one.mp4"), ("-t", "gone.mp4", "-o", "two.mp4"))
    _, _, err = call("job-run", "demo", "--log-format", "json")
    said = [json.loads(line) for line in err.splitlines()]
    about = [{key: one[key] for key in ("job", "steps", "status", "failed_steps") if key in one} for one in said]
    assert [one["event"] for one in said if "job" in one] == ["job_started", "job_ended"]
    assert about[0] == {"job": "demo", "steps": 2}
    (failed,) = (one for one in said if one["event"] == "failed")
    assert {key: failed[key] for key in ("step", "steps", "target", "output")} == {
        "step": 2,
        "steps": 2,
        "target": "gone.mp4",
        "output": "two.mp4",
    }
    assert about[-1] == {"job": "demo", "status": "failed", "failed_steps": 1}
