from __future__ import annotations

import mmap
import subprocess
import sys
import threading

import psutil
import pytest

from facefusion.core.errors import ResourceError
from facefusion.memory.meter import MemoryMeter, OwnPeak, ProcessTree, resident_bytes

GIB = 1 << 30


def readings(*amounts):
    """A measuring function that gives these amounts, then the last one for ever."""
    left = list(amounts)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_it_measures_what_this_process_really_takes():
    before = resident_bytes()
    # Mapped afresh: an array might be given memory that is resident already.
    with mmap.mmap(-1, 64 << 20) as held:
        held.write(b"x" * (64 << 20))
        assert 60 << 20 < resident_bytes() - before < 80 << 20
    assert abs(resident_bytes() - before) < 8 << 20


def test_children_count():
    program = "import sys; held = bytearray(48 << 20); print('ready', flush=True); sys.stdin.read()"
    before = resident_bytes()
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        assert resident_bytes() - before > 48 << 20
        child.communicate(b"")


def test_a_tree_looks_for_children_from_time_to_time_and_forgets_those_that_ended():
    now = 0.0
    tree = ProcessTree(clock=lambda: now)
    before = tree.resident_bytes()
    program = "import sys; held = bytearray(48 << 20); print('ready', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        now = 1.9
        assert tree.resident_bytes() - before < 16 << 20
        now = 2.0
        assert tree.resident_bytes() - before > 48 << 20
        child.communicate(b"")
    assert tree.resident_bytes() - before < 16 << 20


def test_pressure_comes_before_the_limit_and_goes_later_than_it_came():
    meter = MemoryMeter(100, read=readings(85, 91, 91, 85, 81, 80, 85, 99, 99))
    pressed = []
    for _ in range(7):
        meter.sample()
        pressed.append(meter.pressure())
    assert pressed == [False, True, True, True, False, False, True]
    assert meter.peak == 99


def test_above_the_limit_the_run_is_refused_with_numbers():
    meter = MemoryMeter(2 * GIB, read=readings(2 * GIB, 2 * GIB, 2 * GIB + 1, 3 * GIB))
    meter.sample()
    meter.check()
    meter.sample()
    with pytest.raises(ResourceError):
        meter.check()
    meter.sample()
    with pytest.raises(ResourceError) as refused:
        meter.check()
    assert str(refused.value) == (
        "the run takes 3.0 GB of memory, above its limit of 2.0 GB. "
        "Raise --system-memory-limit, lower --execution-thread-count or --execution-queue-count, "
        "or choose smaller models or frames."
    )


def test_without_a_limit_it_only_measures():
    meter = MemoryMeter(read=readings(10**15))
    meter.sample()
    meter.check()
    assert not meter.pressure()
    assert meter.peak == 10**15


def test_its_thread_samples_and_is_gone_at_the_end():
    sampled = threading.Event()
    count = 0

    def read():
        nonlocal count
        count += 1
        if count >= 5:
            sampled.set()
        return count

    before = threading.active_count()
    with MemoryMeter(interval=0.001, read=read) as meter:
        assert sampled.wait(5)
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
    assert meter.peak == meter.current == count >= 5


def test_a_failing_run_leaves_no_thread():
    before = threading.active_count()
    with pytest.raises(KeyError), MemoryMeter():
        raise KeyError
    assert threading.active_count() == before
    assert psutil.Process().is_running()


def test_a_new_pressure_is_believed_only_after_what_is_held_for_nothing_is_given_back():
    relieved = []
    meter = MemoryMeter(100, read=readings(95, 85, 95, 92, 92, 85), relieve=lambda: relieved.append(True))
    pressed = []
    for _ in range(4):
        meter.sample()
        pressed.append(meter.pressure())
    assert pressed == [False, True, True, True]
    assert len(relieved) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps a highest point that can be set back")
def test_nothing_between_two_samples_is_missed():
    with MemoryMeter(interval=3600.0) as meter:
        before = meter.peak
        with mmap.mmap(-1, 64 << 20) as held:
            for _ in range(64):
                held.write(b"x" * (1 << 20))
        assert 60 << 20 < meter.peak - before < 80 << 20
    assert 60 << 20 < meter.peak - before < 80 << 20
    with MemoryMeter(interval=3600.0) as later:
        assert later.peak < before + (16 << 20)


def test_where_no_highest_point_is_kept_there_is_none(tmp_path):
    peak = OwnPeak(tmp_path / "missing")
    peak.forget()
    assert peak.bytes() == 0
