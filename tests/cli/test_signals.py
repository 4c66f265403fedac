"""Ctrl-C and requests to end, from the program's first line on."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from facefusion.cli.signals import stop_on_signals, work_listening
from facefusion.core.errors import Stopped
from facefusion.core.stop import StopToken
from facefusion.observability.terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

ROOT = Path(__file__).parents[2]
WHILE_LOADING = """
import os, runpy, signal, sys

class Loading:
    def find_spec(self, name, path=None, target=None):
        if name == "facefusion.cli.main":
            signal.raise_signal(int(os.environ["NUMBER"]))

sys.meta_path.insert(0, Loading())
sys.argv = ["facefusion.py", "--version"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
WHILE_WORKING = """
import os, signal, sys, time
from facefusion.cli.main import main
from tests.cli.fakes import FakeApplication
application = FakeApplication()

def interrupted(events, stop):
    for number in sys.argv[2].split(","):
        os.kill(os.getpid(), int(number))
        while not stop.requested:
            time.sleep(0.01)
    stop.sleep(60)

application.before_report = interrupted
raise SystemExit(main(["run", "-t", sys.argv[1], "-o", "result.mp4", *sys.argv[3:]], application))
"""

WITHIN_A_LIBRARY = """
import hashlib, os
from facefusion.cli.main import main
from tests.cli.fakes import FakeApplication
application = FakeApplication()

def endless(events, stop):
    # Its number as the test knows it, which in a container is another one.
    print(os.readlink("/proc/self") if os.path.exists("/proc/self") else os.getpid(), flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)

application.before_report = endless
raise SystemExit(main(["run", "-t", "target.mp4", "-o", "result.mp4", "--log-level", "error"], application))
"""


def python(code, *words, cwd=ROOT):
    call = [sys.executable, "-c", code, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(call, cwd=cwd, env=environment, text=True, capture_output=True, check=False, timeout=120)


@pytest.fixture
def interrupt(tmp_path):
    (tmp_path / "target.mp4").write_bytes(b"x")

    def run(*numbers, options=()):
        return python(WHILE_WORKING, "target.mp4", ",".join(str(int(one)) for one in numbers), *options, cwd=tmp_path)

    return run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_program_is_loaded_ends_it_without_a_word_as_stopped(monkeypatch, number):
    monkeypatch.setenv("NUMBER", str(int(number)))
    done = python(WHILE_LOADING)
    assert (done.returncode, done.stdout, done.stderr) == (Stopped.exit_code, "", "")


def test_a_run_that_is_to_outlive_its_terminal_is_loaded_all_the_same(monkeypatch):
    monkeypatch.setenv("NUMBER", str(int(signal.SIGHUP)))
    done = python(f"import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n{WHILE_LOADING}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("FaceFusion ")


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (signal.SIGINT, "Ctrl-C"),
        (signal.SIGTERM, "a request to end (SIGTERM)"),
        (signal.SIGHUP, "the end of its terminal (SIGHUP)"),
    ],
)
def test_the_first_signal_stops_the_work(interrupt, tmp_path, number, reason):
    done = interrupt(number, options=("--log-level", "error"))
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == f"Stopping; once more to end at once.\nStopped by {reason}; nothing half-written is left.\n"
    assert not (tmp_path / "result.mp4").exists()


def test_the_second_signal_ends_the_process(interrupt):
    done = interrupt(signal.SIGINT, signal.SIGTERM)
    assert done.returncode == -signal.SIGTERM
    assert done.stderr.endswith("Stopping; once more to end at once.\n")


def test_in_json_a_stop_is_said_in_objects(interrupt):
    done = interrupt(signal.SIGINT, options=("--log-format", "json", "--log-level", "error"))
    said = [json.loads(line) for line in done.stderr.splitlines()]
    assert [one["message"] for one in said] == [
        "Stopping; once more to end at once.",
        "Stopped by Ctrl-C; nothing half-written is left.",
    ]
    assert said[1] | {"event": "stopped", "kind": "Stopped", "exit_code": 4} == said[1]


def test_handlers_are_as_before_afterwards():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    stop = StopToken()
    with stop_on_signals(stop, Terminal(io.StringIO())), pytest.raises(Stopped, match="SIGTERM"):
        signal.raise_signal(signal.SIGTERM)
        stop.check()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = StopToken()
    try:
        with stop_on_signals(stop, Terminal(io.StringIO())):
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert not stop.requested


def test_the_work_has_a_thread_of_its_own_and_its_outcome_comes_back():
    def fail():
        raise Stopped("Ctrl-C")

    stop, terminal = StopToken(), Terminal(io.StringIO())
    assert work_listening(threading.current_thread, stop, terminal) is not threading.current_thread()
    with pytest.raises(Stopped, match="Ctrl-C"):
        work_listening(fail, stop, terminal)


FIRST_PROCESS = ("unshare", "--pid", "--fork", "--kill-child", "--user", "--map-root-user")
"""Runs a command as the first process of a container, which signals do not end by themselves."""


def first_process_can_be_made():
    return shutil.which(FIRST_PROCESS[0]) is not None and subprocess.call([*FIRST_PROCESS, "true"]) == 0


@pytest.mark.parametrize("is_first", [False, True])
def test_a_library_that_is_long_at_work_keeps_no_signal_waiting(tmp_path, is_first):
    if is_first and not first_process_can_be_made():
        pytest.skip("needs the right to make processes as a container has them")
    (tmp_path / "target.mp4").write_bytes(b"x")
    call = [*(FIRST_PROCESS if is_first else ()), sys.executable, "-c", WITHIN_A_LIBRARY]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        call, cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        who = int(process.stdout.readline())
        os.kill(who, signal.SIGINT)
        assert process.stderr.readline() == "Stopping; once more to end at once.\n"
        os.kill(who, signal.SIGINT)
        assert process.wait(timeout=60) == (128 + signal.SIGINT if is_first else -signal.SIGINT)


def test_another_thread_than_the_main_one_works_as_it_is_and_sets_no_handlers():
    before = signal.getsignal(signal.SIGINT)
    within = []

    def work():
        within.append((threading.current_thread(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work_listening, args=(work, StopToken(), Terminal(io.StringIO())))
    thread.start()
    thread.join()
    assert within == [(thread, before)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait_for_an_ini_file_that_is_a_pipe(tmp_path, number):
    pipe = tmp_path / "settings"
    os.mkfifo(pipe)
    words = [sys.executable, ROOT / "facefusion.py", "config", "--config-path", pipe]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        writer = os.open(pipe, os.O_WRONLY)  # there once the program reads
        process.send_signal(number)
        assert process.communicate(timeout=60) == ("", "")
        os.close(writer)
    assert process.returncode == Stopped.exit_code
