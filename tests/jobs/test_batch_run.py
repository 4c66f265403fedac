"""``batch-run``, mostly with a program that does nothing behind it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import cv2
import pytest

from facefusion.app.engine import Engine
from facefusion.cli.main import main
from facefusion.config.settings import PathsSettings
from facefusion.core.errors import ContentRefusedError, MediaError, UsageError
from tests.cli.fakes import FakeApplication
from tests.media.clips import decode

REPOSITORY = Path(__file__).parents[2]
PATTERNS = ("-s", "faces/*", "-t", "clips/*", "-o", "out/{source_name}-{target_name}{target_extension}")
OUTPUTS = ["out/ann-a.mp4", "out/ann-b.mp4", "out/bob-a.mp4", "out/bob-b.mp4"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("faces/ann.jpg", "faces/bob.jpg", "clips/a.mp4", "clips/b.mp4"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(b"x")
    Path("out").mkdir()


@pytest.fixture
def call(capsys):
    def run(*words, application=None):
        code = main(words, application or FakeApplication())
        captured = capsys.readouterr()
        return code, captured.out.splitlines(), captured.err.splitlines()

    return run


class Failing(FakeApplication):
    """Fails on some outputs."""

    def __init__(self, *outputs, failure=None):
        super().__init__()
        self.outputs = [Path(output) for output in outputs]
        self.error = failure or MediaError("that breaks off", "Repair it.")

    def execute(self, snapshot, events, stop):
        self.failure = self.error if snapshot.get(PathsSettings).output_path in self.outputs else None
        return super().execute(snapshot, events, stop)

    @property
    def asked_for(self):
        return [str(snapshot.get(PathsSettings).output_path) for snapshot in self.snapshots]


def the_job():
    (path,) = Path(".jobs").glob("*/*.json")
    return path.parent.name, path.stem, json.loads(path.read_text())["steps"]


def test_every_source_is_given_to_every_target_in_one_job(call):
    application = FakeApplication()
    code, out, err = call("batch-run", *PATTERNS, "--face-detector-score", "0.25", application=application)
    assert (code, out) == (0, OUTPUTS)
    assert [line for line in err if line.startswith("step ")] == [
        f"step {index} of 4: {output}" for index, output in enumerate(OUTPUTS, 1)
    ]
    assert err[-1] == "4 of 4 done."
    status, job_id, steps = the_job()
    assert status == "completed"
    assert re.fullmatch(r"batch-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d", job_id)
    assert err[0] == f"job {job_id}: 4 steps"
    assert [step["status"] for step in steps] == ["completed"] * 4
    assert [step["args"]["source_paths"] for step in steps] == [["faces/ann.jpg"]] * 2 + [["faces/bob.jpg"]] * 2
    assert [step["args"]["target_path"] for step in steps] == ["clips/a.mp4", "clips/b.mp4"] * 2
    assert {step["args"]["face_detector_score"] for step in steps} == {0.25}
    assert not {"source_pattern", "target_pattern", "output_pattern"} & set(steps[0]["args"])
    given = [snapshot.get(PathsSettings) for snapshot in application.snapshots]
    assert [(*map(str, paths.source_paths), str(paths.target_path)) for paths in given] == [
        (source, target) for source in ("faces/ann.jpg", "faces/bob.jpg") for target in ("clips/a.mp4", "clips/b.mp4")
    ]


def test_a_step_that_fails_stops_no_other_and_is_all_that_is_retried(call):
    Path("out/ann-b.mp4").write_bytes(b"an earlier result")
    code, out, err = call("batch-run", *PATTERNS, application=Failing("out/ann-b.mp4"))
    assert (code, out) == (1, [OUTPUTS[0], *OUTPUTS[2:]])
    status, job_id, _ = the_job()
    assert status == "failed"
    assert "error: step 2 of 4, target clips/b.mp4 with faces/ann.jpg: that breaks off. Repair it." in err
    assert err[-1] == f"error: 3 of 4 done, 1 failed. job-retry {job_id} does again what is not done."
    assert Path("out/ann-b.mp4").read_bytes() == b"an earlier result"
    application = Failing()
    assert call("job-retry", job_id, application=application)[:2] == (0, ["out/ann-b.mp4"])
    assert application.asked_for == ["out/ann-b.mp4"]
    assert Path("out/ann-b.mp4").read_bytes() == b"result"


def test_machines_are_told_how_a_batch_ended(call):
    _, _, err = call("batch-run", *PATTERNS, "--log-format", "json", application=Failing("out/ann-b.mp4"))
    last = json.loads(err[-1])
    assert (last["event"], last["level"], last["status"], last["failed_steps"]) == ("job_ended", "error", "failed", 1)
    assert last["message"].startswith("3 of 4 done, 1 failed. ")


def test_halt_on_error_leaves_the_rest_to_the_retry(call):
    code, out, err = call("batch-run", *PATTERNS, "--halt-on-error", application=Failing("out/ann-b.mp4"))
    assert (code, out) == (1, OUTPUTS[:1])
    _, job_id, steps = the_job()
    assert err[-1] == f"error: 1 of 4 done, 1 failed. job-retry {job_id} does again what is not done."
    assert [step["status"] for step in steps] == ["completed", "failed", "queued", "queued"]
    assert call("job-retry", job_id)[:2] == (0, OUTPUTS[1:])


@pytest.mark.parametrize("source", ["faces/ann.jpg", "faces/*"])
def test_a_refused_target_ends_a_batch_with_a_status_of_its_own(call, source):
    refusing = Failing("out/0.mp4", failure=ContentRefusedError("that is refused"))
    code, out, err = call("batch-run", "-s", source, "-t", "clips/a.mp4", "-o", "out/{index}.mp4", application=refusing)
    done = ["out/1.mp4"] if "*" in source else []
    assert (code, out) == (3, done)
    assert err[-1] == f"error: {len(done)} of {len(done) + 1} done, 1 refused by the content filter."


def test_a_stopped_batch_goes_on_where_it_was(call):
    application = FakeApplication()

    def stop_at_the_second(events, stop):
        if len(application.snapshots) == 2:
            stop.request("Ctrl-C")
            stop.check()

    application.before_report = stop_at_the_second
    code, out, err = call("batch-run", *PATTERNS, application=application)
    assert (code, out) == (4, OUTPUTS[:1])
    status, job_id, steps = the_job()
    assert status == "queued"
    assert [step["status"] for step in steps] == ["completed", "queued", "queued", "queued"]
    assert f"the job {job_id} stays queued, and job-run {job_id} goes on with it." in err[-1]
    assert call("job-run", job_id)[:2] == (0, OUTPUTS[1:])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*PATTERNS[:4], "-o", "out/{name}.mp4"), "--output-pattern out/{name}.mp4: there is no placeholder {name}"),
        ((*PATTERNS[:4], "-o", "out/{source_name}.mp4"), "output out/ann.mp4 would be written twice"),
        ((*PATTERNS[:4], "-o", "away/{index}.mp4"), "output away/0.mp4: the folder away does not exist."),
        (("-s", "faces/*.gif", *PATTERNS[2:]), "the source pattern faces/*.gif matches no image or audio file."),
        (
            ("-t", "clips/a.mp4", "clips/b.mp4"),
            "batch-run: clips/b.mp4 is one word too many. A pattern is put in quotes, so that the shell leaves",
        ),
        (PATTERNS[:4], "no names for the results are given."),
        (
            ("-t", "clips/*", "-o", "out"),
            "no sources are given, and face_swapper needs a source face. Name images with --source-pattern",
        ),
    ],
)
def test_what_cannot_be_done_makes_no_job_and_runs_nothing(call, words, message):
    application = FakeApplication()
    code, out, err = call("batch-run", *words, application=application)
    assert code in (1, 2)
    assert out == []
    assert err[-1].startswith(f"error: {message}")
    assert application.snapshots == []
    assert not Path(".jobs").exists()
    assert list(Path("out").iterdir()) == []


def test_a_processor_without_sources_takes_targets_alone(call):
    code, out, _ = call("batch-run", "-t", "clips", "-o", "out", "--processors", "face_enhancer")
    assert (code, out) == (0, ["out/a.mp4", "out/b.mp4"])
    assert [step["args"]["source_paths"] for step in the_job()[2]] == [[], []]


def test_what_is_passed_over_is_said(call):
    Path("clips/notes.txt").write_bytes(b"x")
    code, _, err = call("batch-run", *PATTERNS)
    assert code == 0
    assert "warning: Passed over what the target pattern matches and is no image or video file: clips/notes.txt." in err


def test_patterns_may_stand_in_the_ini_file(call):
    Path("facefusion.ini").write_text(
        "[patterns]\nsource_pattern = faces/*\ntarget_pattern = clips/*\noutput_pattern = out/%%{index:03d}.mp4\n"
    )
    assert call("batch-run")[:2] == (0, [f"out/%{index:03d}.mp4" for index in range(4)])


def test_two_batches_of_one_second_are_two_jobs(call):
    for _ in range(3):
        assert call("batch-run", *PATTERNS)[0] == 0
    assert len(list(Path(".jobs/completed").iterdir())) == 3


def test_a_jobs_folder_that_cannot_be_made_is_said_before_any_work(call):
    Path("taken").write_bytes(b"x")
    application = FakeApplication()
    code, out, err = call("batch-run", *PATTERNS, "--jobs-path", "taken/jobs", application=application)
    assert (code, out, application.snapshots) == (1, [], [])
    assert "--jobs-path" in err[-1]


def test_the_whole_program_loads_each_model_once_and_survives_a_damaged_file(call, model_path):
    for name, frame in zip(("a", "b", "c"), decode(REPOSITORY / "assets/benchmark/target-240p.mp4"), strict=False):
        cv2.imwrite(f"clips/{name}.png", frame.to_ndarray(format="bgr24"))
    Path("clips/b.png").write_bytes(b"damaged")
    words = ("-s", str(REPOSITORY / "assets/demo/source.jpg"), "-t", "clips/*.png", "-o", "out/{index}.png")
    where = ("--models-path", str(model_path("yunet").parent), "--log-level", "debug")
    engine = Engine()
    try:
        code, out, err = call("batch-run", *words, *where, application=engine)
    finally:
        engine.release_models()
    assert (code, out) == (1, ["out/0.png", "out/2.png"])
    assert "2 of 3 done, 1 failed." in err[-1]
    loaded = Counter(match[1] for match in (re.search(r"loaded (\w+) on cpu", line) for line in err) if match)
    assert loaded == {"yunet": 1, "face_mesh": 1, "sface": 1, "open_nsfw": 1}
    assert sorted(path.name for path in Path("out").iterdir()) == ["0.png", "2.png"]


def test_a_step_that_fails_names_its_files_and_options_that_the_command_has(call):
    Path("faces/voice.mp3").write_bytes(b"x")
    wanting = UsageError("face_swapper needs a source face", "Name one image or more with --source-paths.")
    application = Failing("out/voice-a.mp4", failure=wanting)
    code, _, err = call("batch-run", *PATTERNS, application=application)
    assert code == 1
    assert (
        "error: step 5 of 6, target clips/a.mp4 with faces/voice.mp3: face_swapper needs a source face. "
        "Name one image or more with --source-pattern."
    ) in err
    assert the_job()[2][4]["error"] == (
        "target clips/a.mp4 with faces/voice.mp3: face_swapper needs a source face. Name one image or more with "
        "--source-paths. A step's options are changed by another step in its place, with job-insert-step and "
        "job-remove-step."
    )
