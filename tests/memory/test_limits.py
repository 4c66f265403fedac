from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from facefusion.memory.limits import hard_limit

GIB = 1 << 30
MIB = 1 << 20

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA is Linux's")


def run(program: str) -> list[str]:
    """Run in a process of its own, since a limit holds for the whole process."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()


@linux_only
def test_a_run_that_bolts_gets_a_memory_error_and_the_limit_is_lifted_afterwards():
    assert run(
        """
        import resource
        import numpy as np
        from facefusion.memory.limits import hard_limit

        before = resource.getrlimit(resource.RLIMIT_DATA)
        with hard_limit(256 << 20, uses_gpu=False) as refusal:
            print(refusal)
            held = np.ones(250 << 20, np.uint8)
            print("within", held.nbytes >> 20)
            try:
                np.ones(3 << 30, np.uint8)
            except MemoryError:
                print("refused")
        print(resource.getrlimit(resource.RLIMIT_DATA) == before)
        print("after", np.empty(3 << 30, np.uint8).nbytes >> 30)
        """
    ) == ["None", "within 250", "refused", "True", "after 3"]


@linux_only
def test_many_threads_do_not_count_against_a_run_within_its_limit():
    assert run(
        """
        import threading
        from facefusion.memory.limits import hard_limit

        with hard_limit(128 << 20, uses_gpu=False) as refusal:
            gate = threading.Event()
            threads = [threading.Thread(target=gate.wait) for _ in range(64)]
            for thread in threads:
                thread.start()
            held = bytearray(100 << 20)
            gate.set()
            for thread in threads:
                thread.join()
            print(refusal, len(held) >> 20)
        """
    ) == ["None 100"]


@linux_only
def test_with_a_gpu_no_limit_is_set_and_it_says_so():
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    with hard_limit(256 * MIB, uses_gpu=True) as refusal:
        assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert refusal == (
        "With a GPU provider the system's own memory limit is not set, since a GPU driver may not survive it; "
        "the limit is watched."
    )


@linux_only
def test_a_tighter_limit_of_the_shell_stays():
    assert run(
        """
        import resource
        from facefusion.memory.limits import hard_limit

        resource.setrlimit(resource.RLIMIT_DATA, (900 << 20, 900 << 20))
        with hard_limit(1 << 30, uses_gpu=False) as refusal:
            print(refusal)
        """
    ) == ["This process may not take more than 900 MiB already, so no further limit is set."]


def test_where_the_system_has_none_it_says_so(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with hard_limit(GIB, uses_gpu=False) as refusal:
        assert refusal == (
            "This system has no memory limit per process, so the limit is watched but not enforced by the system."
        )
