from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from facefusion.core.errors import ModelError, ProviderError
from facefusion.inference.execution import Device
from facefusion.inference.pool import InferencePool, MemoryStrategy, PoolCounters
from facefusion.inference.session import DeviceMemoryError, OrtSession
from facefusion.observability.events import ModelLoaded, Notice
from tests.inference.fakes import FakeLoader, FakeSession, Heard, execution, file, graph

ONE_DEVICE = (Device(0),)
ROW = {"x": np.ones((1, 2), np.float32)}


class Clock:
    """Seconds that pass when told."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def pool(*providers, load=None, heard=None, devices=ONE_DEVICE, memory_limit=None, gate_count=0, **options):
    plan = execution(*providers, devices=devices, memory_limit=memory_limit, gate_count=gate_count)
    return InferencePool(plan, events=heard or Heard(), load=load or FakeLoader(), **options)


def use(shared, *models):
    for model in models:
        with shared.lease(model) as lease:
            lease.run(ROW)


def test_a_lease_runs_a_real_graph(tmp_path):
    heard = Heard()
    rows = np.arange(4, dtype=np.float32).reshape(1, 4)
    with pool(load=OrtSession, heard=heard) as shared:
        with shared.lease(graph(tmp_path)) as lease:
            np.testing.assert_array_equal(lease.run({"x": rows})["y"], 3 * rows + 1)
        assert shared.models_used() == {"affine": "cpu"}
    (loaded,) = heard.events
    assert isinstance(loaded, ModelLoaded)
    assert (loaded.model, loaded.provider) == ("affine", "cpu")


def test_many_threads_asking_at_once_load_once(tmp_path):
    model = file(tmp_path, "a")
    arrived = threading.Barrier(16)
    loader = FakeLoader()
    with pool(load=loader) as shared, ThreadPoolExecutor(16) as workers:

        def ask(_):
            arrived.wait(5)
            with shared.lease(model) as lease:
                return id(lease.session)

        sessions = set(workers.map(ask, range(16)))
    assert len(sessions) == 1
    assert loader.loaded == [("a", "cpu")]
    assert shared.counters == PoolCounters(loads=1, hits=15, evictions=1)


def test_different_models_load_at_the_same_time(tmp_path):
    both = threading.Barrier(2)

    def make(request):
        both.wait(5)  # breaks unless the other one is loading too
        return FakeSession()

    with pool(load=FakeLoader(make)) as shared, ThreadPoolExecutor(2) as workers:
        list(workers.map(lambda name: use(shared, file(tmp_path, name)), ("a", "b")))
    assert shared.counters.loads == 2


def test_one_file_under_two_names_is_one_session(tmp_path):
    first = file(tmp_path, "a")
    second = file(tmp_path, "b")
    second.path.write_bytes(first.path.read_bytes())
    loader = FakeLoader()
    with pool(load=loader) as shared:
        use(shared, first, second)
    assert loader.loaded == [("a", "cpu")]


def test_a_load_that_fails_fails_for_all_who_wait_and_may_be_tried_again(tmp_path):
    model = file(tmp_path, "a")
    broken = True

    def make(request):
        if broken:
            # Fail when all four wait for this load; only the pool knows.
            for _ in range(500):
                if next(iter(shared._shelf._places.values())).leases == 4:
                    break
                time.sleep(0.01)
            raise ModelError("a: broken", "Fetch it.")
        return FakeSession()

    def ask(_):
        with pytest.raises(ModelError, match="a: broken"):
            use(shared, model)

    loader = FakeLoader(make)
    with pool(load=loader) as shared, ThreadPoolExecutor(4) as workers:
        list(workers.map(ask, range(4)))
        assert loader.loaded == [("a", "cpu")]
        broken = False
        use(shared, model)
        assert len(loader.loaded) == 2
        assert shared.models_used() == {"a": "cpu"}


def test_a_lease_is_never_evicted_under_its_user(tmp_path):
    model = file(tmp_path, "a")
    with pool(idle_seconds=0) as shared:
        with shared.lease(model) as held:
            assert shared.release_idle() == 0
            assert shared.release_unused() == 0
            np.testing.assert_array_equal(held.run(ROW)["y"], [[2, 2]])
            with shared.lease(model) as again:
                assert again.session is held.session
        assert shared.release_unused() == 1
        with pytest.raises(RuntimeError, match="the lease is over"):
            held.run(ROW)


def test_aggressive_loads_everything_at_the_start_on_every_device(tmp_path):
    models = [file(tmp_path, name) for name in "ab"]
    loader = FakeLoader()
    with pool("cuda", load=loader, devices=(Device(0), Device(1)), strategy=MemoryStrategy.AGGRESSIVE) as shared:
        shared.preload([*models, models[0]])
        assert sorted(loader.loaded) == [("a", "cuda"), ("a", "cuda"), ("b", "cuda"), ("b", "cuda")]
        use(shared, *models)
        assert len(loader.loaded) == 4
        assert shared.release_unneeded([]) == 0


def test_a_model_that_cannot_be_preloaded_is_told(tmp_path):
    def make(request):
        raise ModelError("a: broken", "Fetch it.")

    with (
        pool(load=FakeLoader(make), strategy=MemoryStrategy.AGGRESSIVE) as shared,
        pytest.raises(ModelError, match="a: broken"),
    ):
        shared.preload([file(tmp_path, "a")])


def test_balanced_loads_on_demand_and_keeps(tmp_path):
    model = file(tmp_path, "a")
    loader = FakeLoader()
    with pool(load=loader) as shared:
        shared.preload([model])
        assert loader.loaded == []
        use(shared, model)
        assert shared.release_unneeded([]) == 0
        use(shared, model)
    assert loader.loaded == [("a", "cpu")]


def test_conservative_releases_what_no_coming_stage_needs(tmp_path):
    first, second, third = (file(tmp_path, name) for name in "abc")
    loader = FakeLoader()
    with pool(load=loader, strategy=MemoryStrategy.CONSERVATIVE) as shared:
        use(shared, first, second)
        with shared.lease(third) as held:
            assert shared.release_unneeded([second]) == 1
            held.run(ROW)
        assert shared.counters.evictions == 2  # the one in use went when its lease ended
        use(shared, second)
        assert [name for name, _ in loader.loaded] == ["a", "b", "c"]


def test_a_session_leased_again_after_it_was_found_unneeded_stays(tmp_path):
    model = file(tmp_path, "a")
    with pool(strategy=MemoryStrategy.CONSERVATIVE) as shared:
        with shared.lease(model):
            shared.release_unneeded([])
            use(shared, model)
        assert shared.counters.evictions == 0


def test_idle_sessions_are_released_on_demand_by_the_clock(tmp_path):
    clock = Clock()
    first, second = file(tmp_path, "a"), file(tmp_path, "b")
    with pool(clock=clock, idle_seconds=1800) as shared:
        use(shared, first)
        clock.now += 1000
        use(shared, second)
        clock.now += 799
        assert shared.release_idle() == 0
        clock.now += 1
        assert shared.release_idle() == 1
        with shared.lease(second):
            clock.now += 5000
            assert shared.release_idle() == 0
        assert shared.release_idle() == 0  # it was used a moment ago
        clock.now += 1800
        assert shared.release_idle() == 1


def test_the_timer_releases_idle_sessions_and_ends_with_the_pool(tmp_path):
    released = threading.Event()
    clock = Clock()

    class Watched(FakeSession):
        def __del__(self):
            released.set()

    before = threading.active_count()
    with pool(load=FakeLoader(lambda request: Watched()), clock=clock, idle_seconds=0.01) as shared:
        use(shared, file(tmp_path, "a"))
        clock.now += 1
        assert released.wait(5)
        assert shared.counters.evictions == 1
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


def test_a_closed_pool_gives_no_lease_and_lets_the_last_one_finish(tmp_path):
    model = file(tmp_path, "a")
    shared = pool()
    with shared.lease(model) as held:
        shared.close()
        np.testing.assert_array_equal(held.run(ROW)["y"], [[2, 2]])
    assert shared.counters.evictions == 1
    with pytest.raises(RuntimeError, match="the inference pool is closed"), shared.lease(model):
        pass


def test_out_of_memory_releases_the_others_and_tries_once_more(tmp_path):
    first, second = file(tmp_path, "a"), file(tmp_path, "b")
    room = False

    def make(request):
        nonlocal room
        if request.model.name == "b" and not room:
            room = True
            raise DeviceMemoryError("b: no memory left to load it on cuda")
        return FakeSession("cuda")

    loader = FakeLoader(make)
    with pool("cuda", load=loader) as shared:
        use(shared, first, second)
        assert [name for name, _ in loader.loaded] == ["a", "b", "b"]
        assert shared.counters == PoolCounters(loads=2, hits=0, evictions=1)


def test_out_of_memory_with_nothing_to_release_is_told(tmp_path):
    def make(request):
        raise DeviceMemoryError("a: no memory left to load it on cuda")

    loader = FakeLoader(make)
    with pool("cuda", load=loader) as shared, pytest.raises(DeviceMemoryError) as refused:
        use(shared, file(tmp_path, "a"))
    assert len(loader.loaded) == 1
    assert str(refused.value) == (
        "a: no memory left to load it on cuda. Close other programs that use the device, lower --inference-gate-count, "
        "--execution-thread-count or --execution-queue-count, set --video-memory-strategy conservative, or choose "
        "smaller models."
    )


def test_a_graph_that_the_first_provider_cannot_load_goes_to_the_next_and_it_is_said(tmp_path):
    def make(request):
        provider = request.providers[0][0].name
        if provider == "cuda":
            raise ProviderError("a: execution provider cuda could not load it (no kernel)", "Add cpu.")
        return FakeSession(provider)

    heard = Heard()
    with pool("cuda", "cpu", load=FakeLoader(make), heard=heard) as shared:
        use(shared, file(tmp_path, "a"))
        assert shared.models_used() == {"a": "cpu"}
    assert heard.events[0] == Notice(
        "a: execution provider cuda could not load it (no kernel); the next provider is used", warning=True
    )
    with pool("cuda", load=FakeLoader(make)) as shared, pytest.raises(ProviderError, match="no kernel"):
        use(shared, file(tmp_path, "a"))


def test_a_device_is_warmed_up_and_the_cpu_is_not(tmp_path):
    session = FakeSession("cuda")
    model = replace(file(tmp_path, "a"), warm_up=(("x", (1, 7)),))
    with pool("cuda", load=FakeLoader(lambda request: session)) as shared:
        with shared.lease(model):
            assert session.shapes_run == [(1, 7)]
        with shared.lease(file(tmp_path, "open")):
            assert session.shapes_run == [(1, 7)]  # its shape is open and nobody gave one
    session = FakeSession("cuda", shape=(None, 7))
    with pool("cuda", load=FakeLoader(lambda request: session)) as shared, shared.lease(file(tmp_path, "rows")):
        assert session.shapes_run == [(1, 7)]  # only the number of pictures is open: one
    on_cpu = FakeSession("cpu")
    with pool(load=FakeLoader(lambda request: on_cpu)) as shared, shared.lease(model):
        assert on_cpu.shapes_run == []


def test_runs_spread_over_devices(tmp_path):
    model = file(tmp_path, "a")
    with (
        pool("cuda", devices=(Device(0), Device(1))) as shared,
        shared.lease(model) as first,
        shared.lease(model) as second,
        shared.lease(model) as third,
    ):
        assert first.session is not second.session
        assert third.session is first.session
        assert shared.counters.loads == 2


class Crowd:
    """Counts how many are inside a run at once.

    The first ones stay until as many as expected are inside; then each lingers for a moment in which more could come.
    """

    def __init__(self, expected):
        self.most = 0
        self._inside = 0
        self._lock = threading.Lock()
        self._full = threading.Event()
        self._intruded = threading.Event()
        self._expected = expected

    def __call__(self):
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
            if self._inside >= self._expected:
                self._full.set()
            if self._inside > self._expected:
                self._intruded.set()
        self._full.wait(5)
        self._intruded.wait(0.01)
        with self._lock:
            self._inside -= 1


@pytest.mark.parametrize(
    ("provider", "device", "gate_count", "expected"),
    [
        ("cpu", Device(0), 0, 8),
        ("cpu", Device(0), 2, 8),
        ("cuda", Device(0), 0, 4),
        ("cuda", Device(0, "card", 5 << 30), 0, 2),
        ("cuda", Device(0), 3, 3),
        ("directml", Device(0), 0, 1),
        ("directml", Device(0), 3, 1),
    ],
)
def test_the_gate_bounds_how_many_run_at_once(tmp_path, provider, device, gate_count, expected):
    crowd = Crowd(expected)
    models = [file(tmp_path, "a"), file(tmp_path, "b")]
    load = FakeLoader(lambda request: FakeSession(provider, crowd))
    with (
        pool(provider, load=load, devices=(device,), gate_count=gate_count) as shared,
        ThreadPoolExecutor(8) as workers,
    ):
        list(workers.map(lambda number: use(shared, models[number % 2]), range(16)))
    assert crowd.most == expected


def test_a_thread_with_two_leases_on_a_narrow_gate_does_not_block_itself(tmp_path):
    with (
        pool("directml") as shared,
        shared.lease(file(tmp_path, "a")) as first,
        shared.lease(file(tmp_path, "b")) as second,
    ):
        first.run(ROW)
        second.run(ROW)
