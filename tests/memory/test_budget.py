from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.errors import ResourceError
from facefusion.memory.budget import (
    GIB,
    GROUPS_IN_PASSING,
    LIBRARIES,
    Instead,
    MemoryBudget,
    MemoryNeed,
    automatic_workers,
    session_bytes,
)
from facefusion.memory.machine import Machine

MIB = 1 << 20


def machine(*, cores: float = 8, gigabytes: float = 64, available: float | None = None) -> Machine:
    free = gigabytes if available is None else available
    return Machine(cores, int(gigabytes * GIB), int(free * GIB), "Linux")


def test_enough_memory_gives_every_worker_two_frames():
    plan = MemoryBudget(8, machine()).plan(MemoryNeed(frame=4 * MIB, worker=50 * MIB), workers=8)
    assert (plan.workers, plan.window) == (8, 8 * 2 + GROUPS_IN_PASSING)
    assert plan.expected == LIBRARIES + 8 * 50 * MIB + 18 * 4 * MIB
    assert plan.limit == 8 * GIB


@pytest.mark.parametrize(
    ("frame", "workers", "window"),
    [
        (1, 2, 10),
        (3, 2, 9),
        (1, 1, 9),
        (1, 8, 18),
        (7, 2, 6),
        (10, 2, 5),
        (24, 2, 4),
        (24, 8, 12),
        (100, 2, 4),
        (100, 32, 36),
    ],
)
def test_few_large_frames_wait(frame, workers, window):
    """Two workers: 360p, 720p, 1080p, 1440p, 2160p; four of 4320p's frames are 400 MB."""
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
        "a memory limit of 1 GB does not hold the smallest window of frames. "
        "It takes about 1.4 GB: set --system-memory-limit 1.4, or choose smaller models or frames."
    )
    assert MemoryBudget(1.4, machine()).plan(need, workers=2).workers == 1


def test_a_machine_that_is_too_small_is_not_told_to_raise_a_limit():
    need = MemoryNeed(frame=1 * GIB, base=GIB)
    with pytest.raises(ResourceError) as refused:
        MemoryBudget(0, machine(gigabytes=2, available=2)).plan(need, workers=1)
    assert str(refused.value) == (
        "this machine has 1.8 GB of memory for the run, too little for the smallest window of frames. "
        "It takes about 4 GB: free memory, use a larger machine, or choose smaller models or frames."
    )


def test_a_limit_above_the_machine_is_cut_to_it():
    assert MemoryBudget(100, machine(gigabytes=4)).limit == 4 * GIB * 9 // 10


def test_a_limit_is_cut_to_what_is_free_and_what_the_process_holds_counts_as_free():
    crowded = machine(gigabytes=16, available=2)
    assert MemoryBudget(8, crowded).limit == 2 * GIB * 9 // 10
    assert MemoryBudget(8, crowded, held=3 * GIB).limit == 3 * GIB + 2 * GIB * 9 // 10
    assert MemoryBudget(4, crowded, held=3 * GIB).limit == 4 * GIB
    assert MemoryBudget(0, machine(gigabytes=4, available=4), held=GIB).limit == 4 * GIB


def test_a_limit_that_the_machine_could_not_give_is_not_advised():
    with pytest.raises(ResourceError) as refused:
        MemoryBudget(1, machine(gigabytes=16, available=2)).plan(MemoryNeed(frame=GIB, base=GIB), workers=1)
    assert str(refused.value).startswith("this machine has 1.8 GB of memory for the run, too little for")


def test_what_would_fit_in_its_place_is_named():
    need = MemoryNeed(
        frame=100 * MIB,
        media=1000 * MIB,
        base=0,
        instead=(Instead("--preset b", 100 * MIB), Instead("--preset c", 500 * MIB), Instead("--preset d", 600 * MIB)),
    )
    with pytest.raises(ResourceError) as refused:
        MemoryBudget(0.8, machine()).plan(need, workers=1)
    assert str(refused.value) == (
        "a memory limit of 0.8 GB does not hold the smallest window of frames. It takes about 1.3 GB: "
        "set --system-memory-limit 1.3, choose --preset c (about 0.8 GB), or choose smaller models or frames."
    )


def test_what_loading_took_for_a_moment_counts():
    need = MemoryNeed(frame=1, base=0, peak=3 * GIB)
    assert MemoryBudget(3, machine()).plan(need, workers=2).expected == 3 * GIB
    with pytest.raises(ResourceError, match=r"It takes about 3 GB: set --system-memory-limit 3, "):
        MemoryBudget(2.9, machine()).plan(need, workers=2)


@given(limit=st.floats(0.1, 8), step=st.floats(0, 4), frame=st.integers(1, 400), workers=st.integers(1, 16))
def test_more_memory_never_gives_less_of_a_window(limit, step, frame, workers):
    """A worker at least, or a refusal: nothing between that would stand still."""
    need = MemoryNeed(frame=frame * MIB, worker=50 * MIB, media=100 * MIB)
    try:
        plan = MemoryBudget(limit, machine()).plan(need, workers)
    except ResourceError:
        return
    larger = MemoryBudget(limit + step, machine()).plan(need, workers)
    assert larger.workers >= plan.workers >= 1
    assert larger.window >= plan.window >= plan.workers + GROUPS_IN_PASSING
    # A worker more comes with each that it takes more, and no two are ever missing at once.
    each = need.worker + need.frame * 2
    if plan.workers < workers:
        assert MemoryBudget(limit + 2 * each / GIB, machine()).plan(need, workers).workers > plan.workers


def test_the_figure_that_a_refusal_names_is_enough():
    need = MemoryNeed(frame=37 * MIB, worker=91 * MIB, models=333 * MIB, media=1234 * MIB)
    with pytest.raises(ResourceError) as refused:
        MemoryBudget(0.5, machine()).plan(need, workers=3)
    named = re.search(r"--system-memory-limit ([\d.]+),", str(refused.value))
    assert named is not None
    assert MemoryBudget(float(named[1]), machine()).plan(need, workers=3).workers == 1


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
        "a memory limit of 2 GB does not hold the smallest window of frames. "
        "It takes about 2.5 GB: set --system-memory-limit 2.5, lower --execution-queue-count, "
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
        assert plan.workers + 2 <= plan.window <= plan.workers + max(plan.workers, 6) + 2


@pytest.mark.parametrize(
    ("cores", "on_gpu", "workers"),
    [(2, False, 2), (0.5, False, 1), (1.5, False, 2), (64, False, 32), (1, True, 2), (12, True, 24), (64, True, 32)],
)
def test_automatic_workers(cores, on_gpu, workers):
    assert automatic_workers(machine(cores=cores), on_gpu=on_gpu) == workers


def test_a_session_is_taken_for_a_quarter_more_than_its_file():
    assert session_bytes(100 * MIB) == 141 * MIB
