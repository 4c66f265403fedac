"""Logs that are no files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from facefusion.observability.log_stream import LogStream, descriptor_of
from facefusion.observability.records import spoken_record

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="devices of POSIX")

ROOT = Path(__file__).parents[2]
CODE = """
import sys
from pathlib import Path
from facefusion.observability.log import set_up_logging
from facefusion.observability.terminal import Terminal
terminal = Terminal(None)
set_up_logging("info", terminal, path=Path(sys.argv[1]))
for text in ("one", "two"):
    terminal.line(text)
"""


@pytest.fixture
def losses():
    return []


def test_a_file_is_no_device(tmp_path):
    (tmp_path / "run.log").write_bytes(b"")
    assert descriptor_of(tmp_path / "run.log") is None
    assert descriptor_of(tmp_path / "none.log") is None


def test_records_are_lines(losses):
    reading, writing = os.pipe()
    log = LogStream(writing, "pipe", losses.append)
    log.handle(spoken_record("one"))
    log.handle(spoken_record("ö\udcff"))
    assert os.read(reading, 100) == b"one\n\xc3\xb6\xff\n"
    os.close(reading)
    log.handle(spoken_record("lost"))
    log.handle(spoken_record("lost too"))
    assert losses == ["the log pipe takes no more; what follows is not in it."]
    os.close(writing)


@pytest.mark.parametrize("name", ["/dev/null", "/dev/full", "/dev/zero"])
def test_a_device_has_no_lock_and_stops_nothing(name, losses):
    if not Path(name).exists():
        pytest.skip(f"needs {name}")
    descriptor = descriptor_of(Path(name))
    assert descriptor is not None
    LogStream(descriptor, name, losses.append).handle(spoken_record("one"))
    os.close(descriptor)
    assert losses == ([f"the log {name} takes no more; what follows is not in it."] if name == "/dev/full" else [])


@pytest.mark.parametrize("name", ["/dev/stderr", "/dev/stdout", "/dev/fd/2"])
def test_a_stream_of_the_process_is_a_log_whatever_it_is(tmp_path, name):
    if not Path(name).exists():
        pytest.skip(f"needs {name}")
    words = [sys.executable, "-c", CODE, name]
    piped = subprocess.run(words, cwd=ROOT, capture_output=True, check=True)
    with (tmp_path / "both").open("wb") as file:
        file.write(b"before\n")
        file.flush()
        subprocess.run(words, cwd=ROOT, stdout=file, stderr=file, check=True)
    for text in (piped.stdout + piped.stderr, (tmp_path / "both").read_bytes().removeprefix(b"before\n")):
        assert [line.partition(b": ")[2] for line in text.splitlines()] == [b"one", b"two"]
    assert [path.name for path in tmp_path.iterdir()] == ["both"]
