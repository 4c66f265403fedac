"""Streams that are closed, full, or of another encoding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="descriptors of POSIX")

ROOT = Path(__file__).parents[2]
CODE = """
import os, sys
sys.path.insert(0, sys.argv[1])
from facefusion.cli.main import main
from tests.cli.fakes import FakeApplication
application = FakeApplication()
def look(events, stop):
    with open("number", "w") as file:
        file.write(str(file.fileno()))
application.before_report = look
raise SystemExit(main(["run", "-t", "target.mp4", "-o", sys.argv[2]], application))
"""


@pytest.fixture
def call(tmp_path):
    (tmp_path / "target.mp4").write_bytes(b"x")

    def run(redirections="", output="result.mp4", **environment):
        command = f'exec "$0" -c "$1" "$2" "$3" {redirections}'
        words = ["sh", "-c", command, sys.executable, CODE, str(ROOT), output]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, env={**os.environ, **environment}, check=False)

    return run


@pytest.mark.parametrize("redirections", [">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_a_closed_or_full_stream_does_not_make_a_good_run_fail(call, tmp_path, redirections):
    if "full" in redirections and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    assert call(redirections).returncode == 0
    assert (tmp_path / "result.mp4").read_bytes() == b"result"


def test_no_file_takes_the_number_of_a_closed_stream(call, tmp_path):
    call("<&- >&- 2>&-")
    assert int((tmp_path / "number").read_text()) > 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_result_that_cannot_be_said_is_a_failure_in_one_line(call):
    done = call(">/dev/full")
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1] == (
        "error: the output stream cannot be written to (No space left on device). Send it to another file."
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [("--version",), ("--help",), ("run", "--help"), ("completion", "bash")])
def test_nor_is_a_help_that_cannot_be_shown_more_than_a_line(words):
    with Path("/dev/full").open("wb") as full:
        call = [sys.executable, "facefusion.py", *words]
        done = subprocess.run(call, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        b"error: the output stream cannot be written to (No space left on device). Send it to another file.\n",
    )


@pytest.mark.skipif(sys.platform == "darwin", reason="file names there are Unicode")
@pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii:strict"])
@pytest.mark.parametrize("name", [b"r\xff.mp4", "ö日.mp4".encode()])
def test_a_path_comes_out_as_the_bytes_it_has_on_the_disk(call, encoding, name):
    done = call(output=os.fsdecode(name), PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stdout) == (0, name + b"\n")
