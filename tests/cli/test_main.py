from __future__ import annotations

import dataclasses
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from facefusion.config.settings import PathsSettings, ProcessorsSettings
from facefusion.core.errors import ContentRefusedError, ModelError, Stopped
from facefusion.doctor import requirements
from facefusion.observability.events import Notice
from tests.cli.fakes import REPORT, FakeApplication, caller
from tests.config.groups import SampleDetector, SampleExecution

REQUEST = ("-s", "source.jpg", "-t", "target.mp4", "-o", "result.mp4")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("source.jpg", "target.mp4"):
        Path(name).write_bytes(b"x")
    return tmp_path


@pytest.fixture
def call(capsys):
    return caller(capsys)


def test_no_command_shows_help(call):
    code, out, err = call()
    assert code == 0
    assert out.startswith("usage: facefusion [-h] [-v] COMMAND [options]\n")
    assert "  headless-run     process an image or a video as a job of one step; never starts a server\n" in out
    assert err == ""


@pytest.mark.parametrize("words", [("-h",), ("--help",), ("--he",)])
def test_help(call, words):
    assert call(*words)[:2] == call()[:2]


@pytest.mark.parametrize("words", [("-v",), ("--version",), ("--vers",)])
def test_version(call, words):
    assert call(*words) == (0, "FaceFusion 4.0.0\n", "")


def test_help_of_a_command_lists_its_options_by_section(call):
    code, out, _ = call("run", "--help")
    assert code == 0
    assert out.startswith("usage: facefusion run [options]\n")
    assert "face detector:\n  --face-detector-score X\n" in out
    assert "--no-fail-on-held-frames" not in out
    assert "  --execution-device-ids" in out


@pytest.mark.parametrize("command", ["run", "headless-run"])
def test_a_run_says_what_was_used_and_writes_only_the_path_to_the_output(call, command):
    code, out, err = call(command, *REQUEST)
    assert code == 0
    assert out == "result.mp4\n"
    assert err == (
        "source      source.jpg\n"
        "target      target.mp4\n"
        "output      result.mp4\n"
        "processors  face_swapper\n"
        "frames        10, 2 of them without a face to work on\n"
        "faces         12\n"
        "speed         20.0 frames/s (0.5 s, after 1.2 s to start)\n"
        "models        yunet (cpu), mesh (code)\n"
        "peak memory   300 MiB\n"
        "video memory  700 MiB\n"
    )


def test_log_level_decides_what_is_said(call):
    assert call("run", *REQUEST, "--log-level", "error") == (0, "result.mp4\n", "")
    assert "stage encode  0.30 s\n" in call("run", *REQUEST, "--log-level", "DEBUG")[2]


def test_settings_reach_the_program(call):
    application = FakeApplication()
    Path("out").mkdir()
    call(
        *("run", "-s", "source.jpg", "source.jpg", "-t", "target.mp4", "-o", "out", "--processors", "face_enhancer"),
        *("--face-detector-sc=0.25", "--execution-device-id", "3"),
        application=application,
    )
    (snapshot,) = application.snapshots
    assert snapshot.get(PathsSettings).source_paths == (Path("source.jpg"), Path("source.jpg"))
    assert snapshot.get(PathsSettings).output_path == Path("out/target.mp4")
    assert snapshot.get(ProcessorsSettings).processors == ("face_enhancer",)
    assert snapshot.get(SampleDetector).face_detector_score == 0.25
    assert snapshot.get(SampleExecution).execution_device_ids == (3,)
    assert str(snapshot.origin("output_path")) == "from command line"


def test_values_may_begin_with_a_dash(call):
    for name in ("-a.jpg", "-b.jpg", "-clip.mp4", "-t.mp4"):
        Path(name).write_bytes(b"x")
    application = FakeApplication()
    call("run", "-s", "-a.jpg", "-b.jpg", "-t", "-clip.mp4", "-o", "-result.mp4", application=application)
    call("run", "-s", "-a.jpg", "--target-path=-t.mp4", "-o", "./-o.mp4", application=application)
    first, second = (snapshot.get(PathsSettings) for snapshot in application.snapshots)
    assert first.source_paths == (Path("-a.jpg"), Path("-b.jpg"))
    assert (first.target_path, first.output_path) == (Path("-clip.mp4"), Path("-result.mp4"))
    assert (second.target_path, second.output_path) == (Path("-t.mp4"), Path("-o.mp4"))


def test_a_switch_can_be_turned_off_again(call):
    Path("facefusion.ini").write_text("[misc]\nfail_on_held_frames = yes\n", encoding="utf-8")
    application = FakeApplication(dataclasses.replace(REPORT, held_frames=(3,)))
    code, out, err = call("run", *REQUEST, application=application)
    assert (code, out) == (1, "result.mp4\n")
    assert err.endswith("error: 1 of 10 frames were passed through unchanged.\n")
    assert "unchanged     1 frame passed through: 3\n" in err
    assert call("run", *REQUEST, "--no-fail-on-held-frames", application=application)[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("rnu",), "there is no command 'rnu'. Did you mean run?"),
        (("job-list",), "the following arguments are required: JOB_STATUS. See: facefusion job-list --help"),
        (
            ("job-list", "done"),
            "argument JOB_STATUS: 'done' must be one of drafted, queued, completed, failed. "
            "See: facefusion job-list --help",
        ),
        (
            ("job-remove-step", "demo", "last"),
            "argument STEP_INDEX: 'last' must be a whole number. See: facefusion job-remove-step --help",
        ),
        (("--quick", "run"), "--quick is no global switch. See: facefusion --help"),
        (("run", "--quick"), "run: --quick is no option of this command. See: facefusion run --help"),
        (
            ("run", "--face-detector-scroe", "1"),
            "run: --face-detector-scroe is no option of this command. Did you mean --face-detector-score?",
        ),
        (
            ("run", "--face-detector", "1"),
            "run: --face-detector is ambiguous: it may mean --face-detector-angles, --face-detector-margin, "
            "--face-detector-score. Write it in full.",
        ),
        (("run", "target.mp4"), "run: target.mp4 is one word too many. See: facefusion run --help"),
        (
            ("run", *REQUEST, "--face-detector-score", "1.5"),
            "--face-detector-score 1.5: must be between 0 and 1 (from command line).",
        ),
        (
            ("run", *REQUEST, "--processors", "face_swaper"),
            "--processors face_swaper: face_swaper must be one of face_swapper, face_enhancer (from command line). "
            "Did you mean face_swapper?",
        ),
        (
            ("run", "-s", "source.jpg", "-t", "target.mp4"),
            "no output is given. Name the file to write with --output-path.",
        ),
        (("headless-run",), "no target is given. Name the image or video to change with --target-path."),
    ],
)
def test_usage_errors_are_one_line_and_status_2(call, words, message):
    application = FakeApplication()
    assert call(*words, application=application) == (2, "", f"error: {message}\n")
    assert application.snapshots == []


def test_an_option_without_its_value(call):
    code, out, err = call("run", "--target-path")
    assert (code, out) == (2, "")
    assert err == (
        "error: argument -t/--target-path: expected one argument. A value that begins with a dash is written "
        "--option=-value. See: facefusion run --help\n"
    )


def test_an_option_of_another_command_is_not_called_unavailable(call):
    assert call("config", "--face-detector-score", "0.2")[::2] == (
        2,
        "error: config: --face-detector-score is no option of this command. It is one of run, headless-run, batch-run, "
        "....\n",
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps a folder that is in use")
def test_a_working_folder_that_was_removed_is_said(call, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert call("run", *REQUEST) == (
        2,
        "",
        "error: the working folder: No such file or directory. Change into a folder that is there.\n",
    )


def test_a_broken_ini_file_is_named(call):
    Path("facefusion.ini").write_text("[misc]\nlog_levle = debug\n", encoding="utf-8")
    assert call("run", *REQUEST) == (
        2,
        "",
        "error: facefusion.ini:2: [misc] has no key log_levle. Did you mean log_level?\n",
    )


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("-s", "none.jpg"), "source none.jpg: there is no such file. Check the path given with --source-paths."),
        (("-t", "none.mp4"), "target none.mp4: there is no such file. Check the path given with --target-path."),
        (
            ("-o", "none/result.mp4"),
            "output none/result.mp4: the folder none does not exist. Create it first, or choose another --output-path.",
        ),
        (
            ("--log-path", "none/run.log"),
            "none/run.log cannot be written: the folder is not there. Name another file with --log-path.",
        ),
    ],
)
@pytest.mark.parametrize("command", ["run", "headless-run"])
def test_a_file_or_folder_that_is_missing_is_status_1_as_in_facefusion(call, command, words, fault):
    assert call(command, *REQUEST, *words) == (1, "", f"error: {fault}\n")


@pytest.mark.parametrize("command", ["run", "headless-run"])
def test_a_report_whose_folder_is_missing_is_status_1_too(call, command):
    code, _, err = call(command, *REQUEST, "--report", "none/report.json")
    assert (code, err.endswith("none does not exist. Create it. Name another file with --report.\n")) == (1, True)


@pytest.mark.parametrize(
    ("failure", "code", "line"),
    [
        (
            ModelError("model x cannot be fetched", "Check the network."),
            2,
            "error: model x cannot be fetched. Check the network.",
        ),
        (ContentRefusedError("target.mp4 is refused"), 3, "error: target.mp4 is refused."),
        (Stopped("Ctrl-C"), 4, "Stopped by Ctrl-C; nothing half-written is left."),
        (KeyboardInterrupt(), 4, "Stopped by Ctrl-C; nothing half-written is left."),
        (MemoryError(), 1, "error: memory does not suffice. Set --system-memory-limit, or process a smaller file."),
    ],
)
def test_each_error_has_its_status(call, failure, code, line):
    assert call("run", *REQUEST, "--log-level", "warn", application=FakeApplication(failure=failure)) == (
        code,
        "",
        f"{line}\n",
    )


def test_a_defect_is_one_line_and_a_traceback_for_those_who_ask(call):
    application = FakeApplication(failure=ZeroDivisionError("division\nby zero"))
    code, out, err = call("run", *REQUEST, "--log-level", "warn", application=application)
    assert (code, out) == (1, "")
    assert err.startswith("error: unexpected ZeroDivisionError: division by zero in fakes.py, line ")
    assert err.endswith(". This is a defect; --log-level debug shows the traceback to report.\n")
    err = call("run", *REQUEST, "--log-level", "debug", application=application)[2]
    assert "Traceback (most recent call last):\n" in err


def test_a_failure_after_a_stop_counts_as_stopped(call):
    application = FakeApplication(failure=ModelError("pip ended with status -2"))
    application.before_report = lambda events, stop: stop.request("Ctrl-C")
    code, _, err = call("run", *REQUEST, "--log-level", "warn", application=application)
    assert (code, err) == (4, "Stopped by Ctrl-C; nothing half-written is left.\n")


def test_a_stop_that_comes_too_late_never_reports_success(call):
    application = FakeApplication()
    application.before_report = lambda events, stop: stop.request("Ctrl-C")
    code, out, err = call("run", *REQUEST, "--log-level", "warn", application=application)
    assert (code, out, err) == (4, "", "The stop came too late: result.mp4 was complete.\n")


def test_ctrl_c_and_sigterm_ask_for_a_stop_and_handlers_are_put_back(call):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    def interrupt(events, stop):
        signal.raise_signal(signal.SIGTERM)
        stop.sleep(60)

    application = FakeApplication()
    application.before_report = interrupt
    code, _, err = call("run", *REQUEST, "--log-level", "warn", application=application)
    assert code == 4
    assert err.endswith("Stopped by a request to end (SIGTERM); nothing half-written is left.\n")
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("nohup", "code"), [(False, 4), (True, 0)])
def test_the_end_of_its_terminal_stops_a_run_unless_it_is_to_go_on(call, nohup, code):
    application = FakeApplication()

    def hang_up(events, stop):
        signal.raise_signal(signal.SIGHUP)
        if not nohup:
            stop.sleep(60)

    application.before_report = hang_up
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if nohup else signal.SIG_DFL)
    try:
        assert call("run", *REQUEST, "--log-level", "warn", application=application)[0] == code
    finally:
        signal.signal(signal.SIGHUP, before)


def test_notices_are_said_once(call):
    application = FakeApplication()

    def notice(events, stop):
        events.emit(Notice("no card was found"))
        events.emit(Notice("no card was found"))
        events.emit(Notice("fell back", warning=True))

    application.before_report = notice
    err = call("run", *REQUEST, application=application)[2]
    assert err.count("no card was found\n") == 1
    assert "warning: fell back\n" in err


def test_force_download_passes_names_and_lists_what_was_fetched(call):
    application = FakeApplication()
    assert call("force-download", application=application)[:2] == (0, "yunet\nmesh\n")
    assert call("force-download", "sface", application=application)[:2] == (0, "sface\n")
    assert application.asked == [None, ("sface",)]


def test_a_stop_while_models_are_fetched_never_reports_success(call):
    application = FakeApplication()
    application.before_report = lambda events, stop: stop.request("Ctrl-C")
    said = "Stopped by Ctrl-C; nothing half-written is left.\n"
    assert call("force-download", application=application) == (4, "", said)


def test_config_shows_values_with_their_origin(call, monkeypatch):
    monkeypatch.setenv("FACEFUSION_FACE_DETECTOR_SCORE", "0.7")
    Path("facefusion.ini").write_text("[processors]\nprocessors = face_enhancer\n", encoding="utf-8")
    code, out, err = call("config")
    assert (code, err) == (0, "")
    assert "[face_detector]\n# from the environment\nface_detector_score = 0.7\n" in out
    assert "[processors]\n# from facefusion.ini:2\nprocessors = face_enhancer\n" in out
    assert "# default\nlog_level = info\n" in out


def start(code, folder, **more):
    root = Path(__file__).parents[2]
    program = f"import sys; sys.path.insert(0, {str(root)!r})\n{code}"
    return subprocess.Popen([sys.executable, "-c", program], cwd=folder, text=True, **more)


def test_help_does_not_wait_for_heavy_packages(folder):
    code = (
        "from facefusion.cli.main import main\n"
        "from tests.cli.fakes import FakeApplication\n"
        "main(['run', '--help'], FakeApplication())\n"
        "print(sorted({'cv2', 'onnxruntime', 'av', 'numpy', 'tqdm'} & set(sys.modules)))\n"
    )
    process = start(code, folder, stdout=subprocess.PIPE)
    assert process.communicate(timeout=60)[0].splitlines()[-1] == "[]"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("signals", "status"), [(1, 4), (2, -signal.SIGINT)])
def test_the_first_ctrl_c_stops_and_the_second_kills(folder, signals, status):
    code = (
        "import time\n"
        "from facefusion.cli.main import main\n"
        "from tests.cli.fakes import FakeApplication\n"
        "def work(events, stop):\n"
        "    print('working', flush=True)\n"
        f"    while not stop.requested or {signals} > 1:\n"
        "        time.sleep(0.01)\n"
        "    stop.check()\n"
        "application = FakeApplication()\n"
        "application.before_report = work\n"
        f"raise SystemExit(main(['run', *{REQUEST!r}], application))\n"
    )
    process = start(code, folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        assert process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGINT)
        said = ""
        while "Stopping; once more to end at once." not in said:
            said += process.stderr.readline()
        if signals > 1:
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == status
        assert not Path("result.mp4").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
def test_a_closed_pipe_is_no_failure(folder):
    code = (
        "from facefusion.cli.main import main\n"
        "from tests.cli.fakes import FakeApplication\n"
        "sys.stdin.readline()\n"
        "raise SystemExit(main(['run', '--help'], FakeApplication()))\n"
    )
    process = start(code, folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.communicate("go\n", timeout=60)[1] == ""
    assert process.returncode == 0


def test_a_missing_package_is_named_with_the_command_that_mends_it(call, monkeypatch):
    monkeypatch.setattr(requirements, "REQUIRED_MODULES", ("no_such_package",))
    application = FakeApplication(failure=ModuleNotFoundError("No module named 'no_such_package'"))
    code, _, err = call("run", *REQUEST, "--log-level", "warn", application=application)
    assert code == 2
    assert err == (
        f"error: Packages are missing from {sys.prefix}: no_such_package. "
        f"Run: {sys.executable} -m pip install -r requirements.txt\n"
    )


@pytest.mark.parametrize(
    "reason",
    ["failed to map segment from shared object", "cannot create shared object descriptor: Cannot allocate memory"],
)
def test_a_library_that_finds_no_room_is_not_taken_for_a_broken_one(call, reason):
    application = FakeApplication(failure=ImportError(f"libSvtAv1Enc.so.4: {reason}"))
    code, _, err = call("run", *REQUEST, "--log-level", "warn", application=application)
    assert code == 2
    assert err == (
        f"error: A library cannot be loaded: libSvtAv1Enc.so.4: {reason}. The system gives this process too little "
        "memory, or forbids to execute what lies in that folder: raise its limits (ulimit -v, ulimit -d, the "
        "container's), or mount the folder without noexec.\n"
    )
    assert requirements.opencv_error(f"cv2.abi3.so: {reason}", "5").fault.startswith("A library cannot be loaded: cv2")
