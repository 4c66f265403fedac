"""Threads of encoders rank no higher than the program's own. For root, whom the system lets, this means most."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from facefusion.media.scheduling import ordinary_scheduling

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="scheduling of Linux")

ROOT = Path(__file__).parents[2]
ENCODE = """
import os, sys
from pathlib import Path
from facefusion.media.encoder import EncoderSettings
from tests.media.writing import transcode

seen, most = set(), 0

def look(frame):
    global most
    threads = os.listdir("/proc/self/task")
    most = max(most, len(threads))
    seen.update(os.sched_getscheduler(int(name)) for name in threads)

source = Path(sys.argv[1]) / "assets" / "benchmark" / "target-240p.mp4"
transcode(source, Path("result.mkv"), EncoderSettings("libsvtav1", preset="ultrafast"), change=look, end=4)
print(*seen, os.sched_getscheduler(0), most > 8)
"""


def test_av1_is_encoded_without_real_time_threads(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", ENCODE, str(ROOT)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout == f"{os.SCHED_OTHER} {os.SCHED_OTHER} True\n"


def test_what_was_changed_within_is_put_back():
    before = os.sched_getscheduler(0)
    with ordinary_scheduling():
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    assert os.sched_getscheduler(0) == before
