from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.errors import ResourceError
from facefusion.memory.budget import GIB, GROUPS_IN_PASSING, MemoryBudget, MemoryNeed, automatic_workers, session_bytes
from facefusion.memory.machine import Machine

MIB = 1 << 20


def machine(*, cores: float = 8, gigabytes: float = 64, available: float | None = None) -> Machine:
    free = gigabytes if available is None else available
    return Machine(cores, int(gigabytes * GIB), int(free * GIB), "Linux")


def test_enough_memory_gives_every_worker_two_frames():
    plan = MemoryBudget(8, machine()).plan(MemoryNeed(frame=4 * MIB, worker=50 * MIB), workers=4)
    assert (plan.workers, plan.window) == (4, 4 * 2 + GROUPS_IN_PASSING)
    assert plan.expected == 200 * MIB + 4 * 50 * MIB + 10 * 4 * MIB
    assert plan.limit == 8 * GIB


@pytest.mark.parametrize(
    ("frame", "workers", "window"), [(7, 2, 6), (10, 2, 5), (24, 2, 4), (24, 8, 12), (100, 2, 4), (100, 32, 36)]
)
def test_few_large_frames_wait(frame, workers, window):
    """Two workers: 1080p, 1440p, 2160p; four of 4320p's frames are 400 MB."""
    plan = MemoryBudget(64, machine()).plan(MemoryNeed(frame=frame * MIB), workers)
    assert (plan.workers, plan.window) == (workers, window)


def test_the_window_shrinks_before_workers_go():
    need = MemoryNeed(frame=8 * MIB, base=0)
    plan = MemoryBudget(7 * 8 / 1024, machine()).plan(need, workers=4)
    assert (plan.workers, plan.window) == (4, 7)


def test_workers_go_when_the_smallest_window_for_them_does_not_fit():
    need = MemoryNeed(frame=100 * MIB, base=0)
    plan = MemoryBudget(0.5, machine()).plan(need, workers=4)
    assert (plan.workers, plan.window) == (3, 5)


def test_a_limit_that_is_too_small_is_refused_with_the_limit_it_takes():
    need = MemoryNeed(frame=200 * MIB, worker=300 * MIB, models=200 * MIB, media=100 * MIB, base=200 * MIB)
    with pytest.raises(ResourceError) as refused:
        MemoryBudget(1, machine()).plan(need, workers=2)
    assert str(refused.value) == (
        "a memory limit of 1.0 GB does not hold the smallest window of frames. "
        "It takes about 1.4 GB: set --system-memory-limit 2, or choose smaller models or frames."
    )
    assert MemoryBudget(2, machine()).plan(need, workers=1).workers == 1


def test_a_machine_that_is_too_small_is_not_told_to_raise_a_limit():
    need = MemoryNeed(frame=1 * GIB, base=GIB)
    with pytest.raises(ResourceError) as refused:
        MemoryBudget(0, machine(gigabytes=2, available=2)).plan(need, workers=1)
    assert str(refused.value) == (
        "this machine has 1.8 GB of memory for the run, too little for the smallest window. "
        "It takes about 4.0 GB: free memory, use a larger machine, or choose smaller models or frames."
    )


def test_a_limit_above_the_machine_is_cut_to_it():
    assert MemoryBudget(100, machine(gigabytes=4)).limit == 4 * GIB


def test_without_a_limit_nine_tenths_of_what_is_free_count():
    budget = MemoryBudget(0, machine(gigabytes=16, available=10))
    assert budget.limit == 9 * GIB
    assert not budget.chosen


def test_frames_that_are_worked_on_together_are_alive_together():
    budget = MemoryBudget(2, machine())
    need = MemoryNeed(frame=2 * MIB, together=4, base=0)
    plan = budget.plan(need, workers=4)
    assert (plan.workers, plan.window) == (4, 4 * 2 + GROUPS_IN_PASSING)
    assert plan.expected == 10 * 4 * 2 * MIB
    with pytest.raises(ResourceError) as refused:
        budget.plan(MemoryNeed(frame=100 * MIB, together=8), workers=4)
    assert str(refused.value) == (
        "a memory limit of 2.0 GB does not hold the smallest window of frames. "
        "It takes about 2.5 GB: set --system-memory-limit 3, lower --execution-queue-count, "
        "or choose smaller models or frames."
    )


@given(
    limit=st.integers(1, 64),
    frame=st.integers(1, 400),
    together=st.integers(1, 8),
    worker=st.integers(0, 500),
    models=st.integers(0, 2000),
    workers=st.integers(1, 64),
)
def test_a_plan_never_exceeds_its_limit_and_a_refusal_is_true(limit, frame, together, worker, models, workers):
    need = MemoryNeed(frame=frame * MIB, together=together, worker=worker * MIB, models=models * MIB)
    try:
        plan = MemoryBudget(limit, machine(gigabytes=64)).plan(need, workers)
    except ResourceError:
        assert need.base + need.models + need.worker + 3 * together * need.frame > limit * GIB
    else:
        assert plan.expected <= plan.limit
        assert 1 <= plan.workers <= workers
        assert plan.workers + 2 <= plan.window <= 2 * plan.workers + 2


@pytest.mark.parametrize(
    ("cores", "on_gpu", "workers"),
    [(2, False, 2), (0.5, False, 1), (1.5, False, 2), (64, False, 32), (1, True, 2), (12, True, 24), (64, True, 32)],
)
def test_automatic_workers(cores, on_gpu, workers):
    assert automatic_workers(machine(cores=cores), on_gpu=on_gpu) == workers


def test_a_session_is_taken_for_two_and_a_half_times_its_file():
    assert session_bytes(100 * MIB) == 266 * MIB
