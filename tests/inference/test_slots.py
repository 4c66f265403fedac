from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

from facefusion.core.errors import Stopped
from facefusion.core.stop import StopToken
from facefusion.inference.execution import Device
from facefusion.inference.gate import DeviceGate
from facefusion.inference.pool import InferencePool
from facefusion.inference.slots import TURN, card_slots
from facefusion.observability.events import Notice
from tests.inference.fakes import FakeLoader, FakeSession, Heard, execution, file

HOLDER = """
import sys
from pathlib import Path
from facefusion.inference.slots import card_slots
with card_slots(Path(sys.argv[1]), "GPU-1").held(int(sys.argv[2]), lambda: None):
    print("held", flush=True)
    sys.stdin.read()
"""

LOCKER = """
import os, sys
from pathlib import Path
from facefusion.inference.byte_lock import lock_byte
file = os.open(Path(sys.argv[1]) / "GPU-1.lock", os.O_RDWR)
print(lock_byte(file, int(sys.argv[2])), flush=True)
sys.stdin.read()
"""

WORKER = """
import sys, threading, time
from pathlib import Path
import numpy as np
from facefusion.inference.execution import Device
from facefusion.inference.pool import InferencePool
from tests.inference.fakes import FakeLoader, FakeSession, Heard, execution, file

folder, count, runs = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

def work():
    begin = time.monotonic_ns()
    time.sleep(0.004)
    spans.append((begin, time.monotonic_ns()))

spans = []
own = folder / sys.argv[4]
own.mkdir()
model = file(own, "a")
load = FakeLoader(lambda request: FakeSession("cuda", work))
plan = execution("cuda", devices=(Device(0, "card", None, "GPU-1"),), cache=folder, gate_count=count)
with InferencePool(plan, events=Heard(), load=load) as pool:
    def run():
        for _ in range(runs):
            with pool.lease(model) as lease:
                lease.run({"x": np.ones((1, 2), np.float32)})
    with pool.lease(model):
        pass
    spans.clear()
    print("ready", flush=True)
    sys.stdin.readline()
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
for begin, end in spans:
    print(begin, end)
"""


@contextmanager
def child(program, *words):
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def holder(folder, count=1):
    """A process that holds a slot until it is told to end."""
    with child(HOLDER, folder, count) as process:
        assert process.stdout.readline() == "held\n"
        yield process


def test_runs_of_several_processes_are_counted_together(tmp_path):
    """Three processes of three threads each, and never more than two runs at once."""
    with ExitStack() as stack:
        workers = [stack.enter_context(child(WORKER, tmp_path, 2, 15, f"worker-{n}")) for n in range(3)]
        for worker in workers:
            assert worker.stdout.readline() == "ready\n"
        spans = []
        for worker in workers:
            worker.stdin.write("\n")
            worker.stdin.flush()
        for worker in workers:
            told, _ = worker.communicate(timeout=60)
            own = [tuple(map(int, line.split())) for line in told.splitlines()]
            assert len(own) == 45
            spans += own
    changes = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    inside = most = 0
    for _, change in changes:
        inside += change
        most = max(most, inside)
    assert most == 2


def test_a_slot_goes_with_the_process_that_is_killed(tmp_path):
    slots = card_slots(tmp_path, "GPU-1")
    with holder(tmp_path) as other, ThreadPoolExecutor(1) as workers:
        entered = threading.Event()

        def enter():
            with slots.held(1, lambda: None):
                entered.set()

        waiting = workers.submit(enter)
        assert not entered.wait(0.1)
        other.kill()
        waiting.result(10)
        assert entered.is_set()


def test_slots_beyond_the_one_that_is_held_are_free(tmp_path):
    with holder(tmp_path, count=2), card_slots(tmp_path, "GPU-1").held(2, lambda: None):
        pass
    with holder(tmp_path), card_slots(tmp_path, "GPU-2").held(1, lambda: None):
        pass  # of another card


def test_a_wait_for_another_process_ends_with_a_stop(tmp_path):
    stop = StopToken()
    slots = card_slots(tmp_path, "GPU-1")
    with holder(tmp_path), ThreadPoolExecutor(2) as workers:

        def enter():
            with slots.held(1, stop.check):
                pass

        first, second = workers.submit(enter), workers.submit(enter)  # the second waits for the first to have its turn
        time.sleep(0.05)
        stop.request("enough")
        for waiting in (first, second):
            with pytest.raises(Stopped, match="enough"):
                waiting.result(10)
    with slots.held(1, lambda: None):
        pass  # nothing was left behind


def test_nobody_passes_one_who_waits_though_a_slot_is_free(tmp_path):
    stop = StopToken()
    slots = card_slots(tmp_path, "GPU-1")
    with child(LOCKER, tmp_path, TURN) as other:
        assert other.stdout.readline() == "True\n"
        stop.request("another one comes first")
        with pytest.raises(Stopped, match="another one comes first"), slots.held(4, stop.check):
            pass
    with slots.held(4, lambda: None):
        pass


def test_who_waits_for_a_slot_has_the_turn_and_gives_it_on(tmp_path):
    slots = card_slots(tmp_path, "GPU-1")
    with holder(tmp_path) as other, ThreadPoolExecutor(1) as workers:
        waits, goes_on = threading.Event(), threading.Event()

        def enter():
            with slots.held(1, waits.set):
                assert goes_on.wait(10)

        waiting = workers.submit(enter)
        assert waits.wait(10)
        with child(LOCKER, tmp_path, TURN) as third:
            assert third.stdout.readline() == "False\n"
        other.communicate("")
        goes_on.set()
        waiting.result(10)
        with child(LOCKER, tmp_path, TURN) as third:
            assert third.stdout.readline() == "True\n"


def test_threads_of_one_process_hold_different_slots(tmp_path):
    slots = card_slots(tmp_path, "GPU-1")
    assert card_slots(tmp_path, "GPU-1") is slots
    with slots.held(2, lambda: None), slots.held(2, lambda: None):
        stop = StopToken()
        stop.request("both are taken")
        with pytest.raises(Stopped, match="both are taken"), slots.held(2, stop.check):
            pass
    with slots.held(1, lambda: None):
        pass


def test_threads_that_ask_for_a_card_at_the_same_moment_count_together(tmp_path, monkeypatch):
    together, opened = threading.Barrier(4), []
    real = os.open

    def slow(*arguments):
        opened.append(arguments)
        time.sleep(0.05)
        return real(*arguments)

    def ask():
        together.wait(10)
        return card_slots(tmp_path, "GPU-1")

    monkeypatch.setattr(os, "open", slow)
    with ThreadPoolExecutor(4) as workers:
        asked = [workers.submit(ask) for _ in range(4)]
        first, *others = [one.result(10) for one in asked]
    assert all(other is first for other in others)
    assert len(opened) == 1


def test_a_gate_without_a_card_is_of_this_process_alone(tmp_path):
    gate = DeviceGate(1)
    with holder(tmp_path), gate.passage():
        stop = StopToken()
        stop.request("taken")
        with pytest.raises(Stopped, match="taken"), gate.passage(stop.check):
            pass


def test_a_gate_is_resized_while_it_is_in_use():
    gate = DeviceGate(1)
    with gate.passage(), ThreadPoolExecutor(1) as workers:

        def enter():
            with gate.passage():
                return True

        waiting = workers.submit(enter)
        gate.resize(2)
        assert waiting.result(10)
    assert gate.slots == 2
    endless = DeviceGate(None)
    endless.resize(1)
    assert endless.slots is None


def test_where_no_locks_can_be_had_it_is_said_once_and_each_process_counts_for_itself(tmp_path):
    (tmp_path / "gates").write_text("no folder")
    heard = Heard()
    plan = execution("cuda", devices=(Device(0, "A card", None, "GPU-3"),), cache=tmp_path)
    with InferencePool(plan, events=heard, load=FakeLoader(lambda request: FakeSession("cuda"))) as pool:
        for name in ("a", "b"):
            with pool.lease(file(tmp_path, name)) as lease:
                lease.run({"x": np.ones((1, 2), np.float32)})
    (said,) = [event for event in heard.events if isinstance(event, Notice)]
    assert said == Notice(
        f"Other processes on A card are not counted: {tmp_path / 'gates'} cannot hold locks (File exists), so each "
        "lets its own number of graphs run at once.",
        warning=True,
    )


def test_the_processor_has_no_file_of_slots(tmp_path):
    plan = execution("cpu", devices=(Device(0, "card", None, "GPU-4"),), cache=tmp_path / "cache")
    with (
        InferencePool(plan, events=Heard(), load=FakeLoader()) as pool,
        pool.lease(file(tmp_path, "a")) as lease,
    ):
        lease.run({"x": np.ones((1, 2), np.float32)})
    assert not (tmp_path / "cache").exists()
