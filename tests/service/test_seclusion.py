"""Others of the same user read no secret of the service's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PARENT = """
import ctypes, os, subprocess, sys
from facefusion.service.seclusion import seclude
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # whoever changes its user is secluded by that
if "seclude" in sys.argv:
    seclude()
read = subprocess.run(["/bin/sh", "-c", "cat /proc/$PPID/environ"], capture_output=True, env={}, check=False)
print(b"SECRET=token" in read.stdout, read.returncode == 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize(("words", "answer"), [((), "True True"), (("seclude",), "False False")])
def test_the_environment_of_a_secluded_process_is_not_read_by_its_own_user(words, answer):
    done = subprocess.run(
        [sys.executable, "-c", PARENT, *words],
        env={**os.environ, "SECRET": "token", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == (answer, 0), done.stderr
