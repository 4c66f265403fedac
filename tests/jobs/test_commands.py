"""The commands that edit jobs, with the real program behind them."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import filelock
import psutil
import pytest

from facefusion.cli.main import main
from facefusion.jobs.model import JobStatus, StepStatus
from facefusion.jobs.store import JobStore

ROOT = Path(__file__).parents[2]
STEP = ("-s", "s.jpg", "-t", "t.mp4", "-o", "out/a.mp4")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(capsys):
    def run(*words):
        code = main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def in_the_end(answer):
    """Without what was said before of models, which depends on those that are here."""
    code, out, err = answer
    return code, out, err.splitlines(keepends=True)[-1]


def steps_of(job_id, status="drafted"):
    return json.loads(Path(".jobs", status, f"{job_id}.json").read_text())["steps"]


def test_a_job_is_made_filled_submitted_listed_and_deleted(call):
    assert call("job-create", "demo") == (0, "", "Job demo is made.\n")
    assert in_the_end(call("job-add-step", "demo", *STEP)) == (0, "", "Job demo: step 0 is added.\n")
    assert call("job-submit", "demo") == (0, "", "Job demo is queued.\n")
    code, out, err = call("job-list", "queued")
    assert (code, err) == (0, "")
    assert out == "job   steps  created   updated   status\ndemo  1      just now  just now  queued\n"
    assert call("job-delete", "demo") == (0, "", "Job demo is deleted.\n")
    assert call("job-list", "queued") == (1, "", "")
    assert call("job-delete", "demo") == (
        1,
        "",
        "error: there is no job demo. job-list shows those of each status.\n",
    )


def test_a_step_keeps_what_was_asked_for_under_facefusions_keys(call):
    call("job-create", "demo")
    words = ("--face-mask-padding", "1", "2", "3", "4", "--trim-frame-end", "9", "--processors", "face_swapper")
    assert call("job-add-step", "demo", *STEP, *words)[0] == 0
    (step,) = steps_of("demo")
    args = step["args"]
    assert (step["status"], args["source_paths"], args["target_path"]) == ("drafted", ["s.jpg"], "t.mp4")
    assert (args["output_path"], args["face_mask_padding"], args["processors"]) == (
        "out/a.mp4",
        [1, 2, 3, 4],
        ["face_swapper"],
    )
    assert (args["trim_frame_start"], args["trim_frame_end"]) == (None, 9)
    assert "execution_providers" not in args
    assert "jobs_path" not in args


def test_models_that_were_left_open_are_named_where_the_step_needs_them(call, folder):
    empty = folder / "models"
    call("job-create", "demo")
    code, _, err = call("job-add-step", "demo", *STEP, "--models-path", str(empty))
    assert code == 0
    args = steps_of("demo")[0]["args"]
    named = {key: args[f"{key}_model"] for key in ("face_swapper", "face_detector", "content_analyser")}
    assert "auto" not in named.values()
    assert args["frame_enhancer_model"] == "auto"
    assert err.endswith("Job demo: step 0 is added.\n")


def test_a_chain_of_remixed_inserted_and_removed_steps(call):
    call("job-create", "demo")
    call("job-add-step", "demo", *STEP)
    assert in_the_end(call("job-remix-step", "demo", "-1", "-s", "s.jpg", "-o", "out/b.mp4")) == (
        0,
        "",
        "Job demo: step 1 is added, which works on out/a-demo-0.mp4.\n",
    )
    assert list(steps_of("demo")[1]["args"])[-1] == "target_path"
    assert in_the_end(call("job-insert-step", "demo", "0", "-s", "s.jpg", "-t", "t.png", "-o", "c.png")) == (
        0,
        "",
        "Job demo: a step is put before step 0.\n",
    )
    targets = [step["args"]["target_path"] for step in steps_of("demo")]
    assert targets == ["t.png", "t.mp4", "out/a-demo-1.mp4"]
    assert call("job-remove-step", "demo", "-1") == (0, "", "Job demo: step -1 is removed.\n")
    assert len(steps_of("demo")) == 2
    assert in_the_end(call("job-insert-step", "demo", "5", *STEP)) == (
        1,
        "",
        "error: the job demo has no step 5: its last is step 1. Choose another step.\n",
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "a.mp4"), "no target is given. Name the image or video to change with --target-path."),
        (("-t", "t.mp4"), "no output is given. Name the file to write with --output-path."),
        (
            ("-t", "t.png", "-o", "a.doc"),
            "output a.doc: the extension .doc does not name a format for the image. Use one of ",
        ),
        (("-t", "t.mp3", "-o", "a.mp4"), "target t.mp3 is an audio file. "),
    ],
)
def test_a_step_that_could_never_run_is_refused_at_once(call, words, message):
    call("job-create", "demo")
    code, _, err = call("job-add-step", "demo", *words)
    assert code in (1, 2)
    assert err.startswith(f"error: {message}")
    assert steps_of("demo") == []


def test_a_folder_may_be_the_output(call, folder):
    (folder / "out").mkdir()
    call("job-create", "demo")
    assert call("job-add-step", "demo", "-t", "t.mp4", "-o", "out")[0] == 0
    assert steps_of("demo")[0]["args"]["output_path"] == "out"


def test_all_drafts_are_submitted_and_each_that_cannot_be_is_named(call):
    for job_id in ("a", "b", "c"):
        call("job-create", job_id)
    for job_id in ("a", "c"):
        call("job-add-step", job_id, *STEP)
    assert call("job-submit-all") == (
        1,
        "",
        "error: the job b cannot be submitted: it has no steps. Add one with job-add-step.\n"
        "Job a is queued.\n"
        "Job c is queued.\n",
    )
    assert {job.id for job in JobStore(Path(".jobs")).list(JobStatus.QUEUED)} == {"a", "c"}
    call("job-delete", "b")
    assert call("job-submit-all") == (1, "", "error: there are no drafted jobs in .jobs. Make one with job-create.\n")


def test_halt_on_error_ends_at_the_first_that_fails(call):
    for job_id in ("a", "b"):
        call("job-create", job_id)
    call("job-add-step", "b", *STEP)
    store = JobStore(Path(".jobs"))
    first = store.list(JobStatus.DRAFTED)[0]
    assert first.id == "a"
    assert call("job-submit-all", "--halt-on-error")[0] == 1
    assert store.find("b").status is JobStatus.DRAFTED


def test_all_jobs_are_deleted_but_those_that_run(call):
    store = JobStore(Path(".jobs"))
    for job_id, status in (("a", None), ("b", JobStatus.QUEUED), ("c", JobStatus.FAILED), ("d", JobStatus.COMPLETED)):
        job = store.create(job_id, [{"output_path": "a.mp4"}])
        if status is not None:
            store.move(job, status)
    broken = Path(".jobs/failed/e.json")
    broken.write_text("{")
    with store.hold("b") as job:
        store.save(job.with_step(0, status=StepStatus.STARTED))
        code, _, err = call("job-delete-all")
    assert code == 1
    assert "error: the job b cannot be deleted: another process runs it. Wait for it, or stop it.\n" in err
    assert f"warning: Job e is deleted, though the job file {broken} cannot be read: it is no JSON" in err
    assert sorted(path.name for path in Path(".jobs").rglob("*.json")) == ["b.json"]
    call("job-delete", "b")
    assert call("job-delete-all") == (1, "", "error: there are no jobs in .jobs. Make one with job-create.\n")


def test_all_files_of_a_job_that_has_several_are_deleted_with_all_jobs(call):
    call("job-create", "a")
    Path(".jobs/failed/a.json").write_bytes(Path(".jobs/drafted/a.json").read_bytes())
    several = "the job a has several files: .jobs/drafted/a.json and .jobs/failed/a.json"
    assert several in call("job-list", "drafted")[2]
    assert several in call("job-list", "failed")[2]
    assert call("job-delete", "a")[0] == 1
    assert call("job-delete-all")[0] == 0
    assert list(Path(".jobs").rglob("*.json")) == []


def test_a_job_whose_name_holds_what_no_id_may_hold_is_deleted(call):
    call("job-create", "a")
    for name in ("b\nc", "\x1b[31m"):
        Path(f".jobs/drafted/{name}.json").write_bytes(Path(".jobs/drafted/a.json").read_bytes())
    assert call("job-delete", "b\nc")[0] == 0
    assert call("job-delete-all")[0] == 0
    assert list(Path(".jobs").rglob("*.json")) == []


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("-s", "s.jpg", "-t", "a.mp4", "-o", "./a.mp4"), "target"),
        (("-s", "s.jpg", "s.png", "-t", "a.png", "-o", "s.png"), "source"),
    ],
)
def test_a_step_that_would_overwrite_what_it_reads_is_refused(call, words, name):
    call("job-create", "demo")
    code, _, err = call("job-add-step", "demo", *words)
    assert code == 2
    assert f"error: output {words[-1].removeprefix('./')} is the {name} itself. It would be overwritten." in err
    assert steps_of("demo") == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals as POSIX has them")
def test_ctrl_c_is_heard_while_another_process_holds_the_folder(folder):
    JobStore(folder / ".jobs").create("demo")
    lock = filelock.FileLock(folder / ".jobs" / ".locks" / ".folder.lock")
    with lock:
        waiting = subprocess.Popen(
            [sys.executable, str(ROOT / "facefusion.py"), "job-create", "other"], stderr=subprocess.PIPE, text=True
        )
        # Work has a thread of its own once signals are heard.
        while waiting.poll() is None and psutil.Process(waiting.pid).num_threads() == 1:
            time.sleep(0.01)
        while waiting.poll() is None:
            waiting.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                waiting.wait(3)
                break
        _, err = waiting.communicate()
    assert (waiting.returncode, err.splitlines()[-1]) == (4, "Stopped by Ctrl-C; nothing half-written is left.")
    assert not Path(".jobs/drafted/other.json").exists()


def test_other_jobs_are_listed_where_a_file_cannot_be_read(call):
    call("job-create", "good")
    Path(".jobs/drafted/bad.json").write_text('{"version": "1", "format": 2}')
    code, out, err = call("job-list", "drafted")
    assert (code, out.splitlines()[1].split()[0]) == (0, "good")
    assert err == (
        "warning: the job file .jobs/drafted/bad.json is of a later version than this program. Update the program; the "
        "file was left as it is.\n"
    )


@pytest.mark.parametrize("words", [("job-create", "../x"), ("job-submit", "a\\b"), ("job-delete", ".")])
def test_an_id_that_names_no_file_is_a_mistake_of_use(call, words):
    code, _, err = call(*words)
    assert code == 2
    assert err.startswith(f"error: the job id {words[1]!r} ")


@pytest.mark.parametrize("words", [("job-list", "drafted"), ("job-add-step", "demo", *STEP), ("job-submit-all",)])
def test_no_heavy_package_is_waited_for(folder, words):
    JobStore(folder / ".jobs").create("demo")
    heavy = {"av", "cv2", "numpy", "onnx", "onnxruntime", "PIL", "tqdm"}
    code = (
        "import sys\n"
        "from facefusion.cli.main import main\n"
        f"main({list(words)!r})\n"
        f"sys.stdout.write(repr(sorted({heavy!r} & set(sys.modules))))\n"
    )
    path = {"PYTHONPATH": str(ROOT)}
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=path, text=True, capture_output=True, check=True
    )
    assert shown.stdout.splitlines()[-1] == "[]"
