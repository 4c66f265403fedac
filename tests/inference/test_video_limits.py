"""Strategies and limits of video memory, against a card that holds so many bytes and not one more."""

from __future__ import annotations

import gc
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from facefusion.core.errors import ResourceError, Stopped, VideoMemoryError
from facefusion.core.stop import StopToken
from facefusion.inference.execution import Device
from facefusion.inference.interruption import Interruption
from facefusion.inference.pool import InferencePool, MemoryStrategy
from facefusion.inference.room import shortage
from facefusion.inference.runner import PooledGraph
from facefusion.inference.session import DeviceMemoryError, ModelFile
from facefusion.memory.video import CONTEXT_BYTES, MEBIBYTE
from facefusion.observability.events import Notice
from tests.inference.card import FakeCard, loader, weights
from tests.inference.fakes import CARD, Heard, execution

ROW = {"x": np.ones((1, 2), np.float32)}
GIB = 1 << 30
FILES: list[ModelFile] = []
FOLDERS: list[Path] = []
SHARE = (32 + 5 + 64) * MEBIBYTE
"""Of a graph of 4 MiB that one run at a time goes through."""


@pytest.fixture(autouse=True, scope="module")
def _files(tmp_path_factory):
    """What a machine of states cannot be handed: five models, and a folder for the slots of cards."""
    FOLDERS[:] = [tmp_path_factory.mktemp("caches")]
    FILES[:] = models(tmp_path_factory.mktemp("files"), "abcde", megabytes=1)


def pool(*cards, limit=None, gate_count=1, workspaces=None, provider="cuda", heard=None, **options):
    devices = tuple(
        Device(card.number, f"card {card.number}", card.capacity, card.uuid, card.capacity) for card in cards
    )
    plan = execution(provider, devices=devices, memory_limit=limit, gate_count=gate_count, cache=FOLDERS[0])

    def read(uuid):
        return next((memory for card in cards if (memory := card.read(uuid))), None)

    load = loader(*cards, workspaces=workspaces)
    return InferencePool(plan, events=heard or Heard(), load=load, read=read, idle_seconds=0, **options)


def models(folder, names, megabytes=4):
    return [weights(folder, name, megabytes) for name in names]


def use(shared, *files):
    for model in files:
        with shared.lease(model) as lease:
            lease.run(ROW)


def room_for(count):
    return CONTEXT_BYTES + count * SHARE


# --- Limits ---


def test_room_is_made_before_a_session_is_loaded_by_the_least_recently_used(tmp_path):
    card = FakeCard(8 * GIB)
    a, b, c = models(tmp_path, "abc")
    with pool(card, limit=room_for(2)) as shared:
        use(shared, a, b, a, c)
        assert card.loads == ["a", "b", "c"]
        assert sorted(card.alive) == ["a", "c"]
        use(shared, a, c)
        assert len(card.loads) == 3
        use(shared, b)
        assert sorted(card.alive) == ["b", "c"]
        assert card.most <= room_for(2)


def test_each_session_is_held_to_its_share_of_the_limit(tmp_path):
    asked = []
    card = FakeCard(8 * GIB)
    load = loader(card)

    def watched(request):
        asked.append(request.providers[0][1].to_runtime()["gpu_mem_limit"])
        return load(request)

    devices = (Device(0, "card", 8 * GIB, card.uuid),)
    plan = execution("cuda", devices=devices, memory_limit=4 * GIB, gate_count=1, cache=tmp_path)
    with InferencePool(plan, events=Heard(), load=watched, read=card.read) as shared:
        use(shared, *models(tmp_path, "ab"))
    assert asked == [str(SHARE)] * 2


def test_a_session_is_held_to_what_it_claims_though_the_gate_is_narrowed_before_it_is_loaded(tmp_path):
    card = FakeCard(8 * GIB)
    asked = []
    load = loader(card)

    def watched(request):
        asked.append(int(request.providers[0][1].to_runtime()["gpu_mem_limit"]))
        return load(request)

    def narrowed(uuid):
        """Asked once the claim is made: another thread that finds no memory narrows the gate at that moment."""
        shared._gates.set_width(0, 1)
        return card.read(uuid)

    devices = (Device(0, "card", 8 * GIB, card.uuid),)
    plan = execution("cuda", devices=devices, memory_limit=4 * GIB, cache=tmp_path)
    with InferencePool(plan, events=Heard(), load=watched, read=narrowed) as shared:
        (a,) = models(tmp_path, "a")
        use(shared, a)
        assert asked == [SHARE + 64 * MEBIBYTE] == [shared._shelf.claimed(0)]
        use(shared, a)
        assert asked == [SHARE + 64 * MEBIBYTE, SHARE]


def test_without_a_limit_no_session_is_held_to_anything(tmp_path):
    card = FakeCard(8 * GIB)
    (a,) = models(tmp_path, "a")
    with pool(card) as shared:
        assert "gpu_mem_limit" not in shared.request(a).providers[0][1].to_runtime()


def test_a_load_waits_until_a_lease_has_ended(tmp_path):
    card = FakeCard(8 * GIB)
    a, b = models(tmp_path, "ab")
    with pool(card, limit=room_for(1)) as shared, ThreadPoolExecutor(1) as workers:
        with shared.lease(a) as held:
            waiting = workers.submit(use, shared, b)
            while not shared._shelf._waiting:
                assert not waiting.done()
            held.run(ROW)
            assert card.loads == ["a"]
        waiting.result(10)
        assert (card.loads, card.alive) == (["a", "b"], ["b"])


def test_who_waits_is_not_passed_by_those_who_need_less(tmp_path):
    """A session that is in use by many at all times would else never go."""
    card = FakeCard(8 * GIB)
    a, b = models(tmp_path, "ab")
    with pool(card, limit=room_for(1)) as shared, ThreadPoolExecutor(2) as workers:
        order = []

        def ask(model):
            with shared.lease(model):
                order.append(model.name)

        with shared.lease(a):
            first = workers.submit(ask, b)
            while shared._shelf._waiting < 1:
                assert not first.done()
            second = workers.submit(ask, a)
            while shared._shelf._waiting < 2:
                assert not second.done()
        first.result(10)
        second.result(10)
        assert order == ["b", "a"]


def test_a_wait_for_room_ends_with_a_stop(tmp_path):
    card, stop = FakeCard(8 * GIB), StopToken()
    a, b = models(tmp_path, "ab")
    with (
        pool(card, limit=room_for(1)) as shared,
        Interruption(stop) as interruption,
        ThreadPoolExecutor(1) as workers,
        shared.lease(a),
    ):
        waiting = workers.submit(PooledGraph(shared, b, interruption).run, ROW)
        while not shared._shelf._waiting:
            assert not waiting.done()
        stop.request("enough")
        with pytest.raises(Stopped, match="enough"):
            waiting.result(10)
        assert card.loads == ["a"]


def test_a_thread_that_holds_a_lease_is_refused_where_it_would_wait_for_itself(tmp_path):
    a, b = models(tmp_path, "ab")
    with pool(FakeCard(8 * GIB), limit=room_for(1)) as shared, shared.lease(a):
        with pytest.raises(ResourceError) as refused, shared.lease(b):
            pass
        assert str(refused.value) == (
            "b and the models that are in use take about 0.7 GB of video memory, and --gpu-memory-limit allows 0.5 GB. "
            "Set --gpu-memory-limit 0.7, set --inference-precision half, choose smaller models or fewer processors, or "
            "run on the processor with --execution-providers cpu."
        )


def test_what_never_fits_is_refused_and_nothing_is_released_for_it(tmp_path):
    card = FakeCard(8 * GIB)
    a, large = models(tmp_path, "ax")
    large = replace(large, workspace=300 * MEBIBYTE)
    with pool(card, limit=room_for(2)) as shared:
        use(shared, a)
        with pytest.raises(ResourceError, match=r"^x takes about 0\.9 GB of video memory"):
            use(shared, large)
        assert card.alive == ["a"]
        assert card.loads == ["a"]


def test_what_other_programs_take_meanwhile_counts(tmp_path):
    for tells_own in (True, False):
        card = FakeCard(8 * GIB, tells_own=tells_own)
        a, b, c = models(tmp_path, "abc")
        with pool(card) as shared:
            use(shared, a, b)
            card.others = card.capacity - card.taken - 40 * MEBIBYTE
            with shared.lease(b):
                pass
            with pytest.raises(ResourceError, match="and the models that are in use take about"), ExitStack() as held:
                for model in (a, b, c):
                    held.enter_context(shared.lease(model))
            assert sorted(card.alive) == ["a", "b"]
            use(shared, c)  # in place of what nobody uses
            assert "c" in card.alive


# --- A step at its start ---


def test_a_step_that_does_not_fit_its_limit_is_refused_with_the_figure_needed(tmp_path):
    card = FakeCard(8 * GIB)
    with pool(card, limit=1 * GIB) as shared, pytest.raises(VideoMemoryError) as refused:
        shared.expect(models(tmp_path, "abcdefgh"))
    assert str(refused.value) == (
        "the models of this step take about 1.3 GB of video memory, and --gpu-memory-limit allows 1 GB. "
        "Set --gpu-memory-limit 1.3, set --inference-precision half, choose smaller models or fewer processors, or run "
        "on the processor with --execution-providers cpu."
    )
    assert not refused.value.may_pass, "the limit is the user's, whatever others give back"
    assert 1.2 * GIB < refused.value.needed <= 1.3 * GIB
    assert card.loads == []


def test_a_step_that_does_not_fit_what_is_free_is_refused_with_the_figure_needed(tmp_path):
    card = FakeCard(8 * GIB)
    card.others = 7 * GIB
    with pool(card) as shared, pytest.raises(VideoMemoryError) as refused:
        shared.expect(models(tmp_path, "abcdefgh"))
    assert str(refused.value) == (
        "the models of this step take about 1.3 GB of video memory, and 1 GB are free on device 0 (card 0). "
        "Close other programs that use it, choose another one with --execution-device-ids, set --inference-precision "
        "half, choose smaller models or fewer processors, or run on the processor with --execution-providers cpu."
    )
    assert refused.value.may_pass, "others may give back what they took"


def test_what_a_device_does_not_have_in_all_is_not_waited_for(tmp_path):
    card = FakeCard(1 * GIB)
    with pool(card) as shared, pytest.raises(VideoMemoryError) as refused:
        shared.expect(models(tmp_path, "abcdefgh"))
    assert not refused.value.may_pass
    assert 1.2 * GIB < refused.value.needed <= 1.3 * GIB


@pytest.mark.parametrize(
    ("free", "asked", "limit", "missing"),
    [
        ((0.5, 4), (), None, ""),
        ((0.5, 0.25), (), None, "512 MiB of video memory are free, and 1024 MiB are needed"),
        ((4, 0.25), (0,), None, ""),
        ((4, 0.25), (1,), None, "256 MiB of video memory are free, and 1024 MiB are needed"),
        ((4, 0.25), (0, 1), None, "256 MiB of video memory are free, and 1024 MiB are needed"),
        ((4, 0.25), (), 5 * GIB, "4096 MiB of video memory are free, and 5120 MiB are needed"),
        ((0.5, 0.25), (), GIB // 4, ""),
        ((None, None), (), 5 * GIB, ""),
        ((), (), None, ""),
    ],
)
def test_what_is_missing_of_the_memory_of_all_cards_is_told(free, asked, limit, missing):
    cards = [
        replace(CARD, index=number, free_memory=None if amount is None else int(amount * GIB))
        for number, amount in enumerate(free)
    ]
    assert shortage(cards, asked, limit) == missing


def test_what_is_loaded_already_counts_as_free_for_the_next_step(tmp_path):
    for tells_own in (True, False):
        card = FakeCard(room_for(3), tells_own=tells_own)
        a, b, c, d, e = models(tmp_path, "abcde")
        with pool(card) as shared:
            shared.expect([a, b, c])
            use(shared, a, b, c)
            shared.expect([c, d, e])
            use(shared, c, d, e)
            assert sorted(card.alive) == ["c", "d", "e"]
            assert card.loads == ["a", "b", "c", "d", "e"]


def test_the_size_of_a_step_is_the_same_refused_or_run(tmp_path):
    """With the figure that is named it runs, and with less it is refused."""
    files = models(tmp_path, "abcd")
    for limit, fits in ((room_for(4) - MEBIBYTE, False), (room_for(4), True)):
        card = FakeCard(8 * GIB)
        with pool(card, limit=limit) as shared:
            if fits:
                shared.expect(files)
                for _ in range(50):
                    use(shared, *files)
                assert card.loads == ["a", "b", "c", "d"]
                assert card.most <= limit
            else:
                with pytest.raises(ResourceError):
                    shared.expect(files)


def test_the_limit_that_a_refusal_names_is_enough(tmp_path):
    files = models(tmp_path, "abcdefg")
    with pool(FakeCard(8 * GIB), limit=GIB) as shared, pytest.raises(ResourceError) as refused:
        shared.expect(files)
    named = re.search(r"--gpu-memory-limit ([\d.]+),", str(refused.value))
    assert named is not None
    card = FakeCard(8 * GIB)
    limit = round(float(named[1]) * GIB)
    with pool(card, limit=limit) as shared:
        shared.expect(files)
        use(shared, *files, *files)
    assert len(card.loads) == 7
    assert card.most <= limit


def test_half_precision_halves_what_a_step_needs(tmp_path):
    a, _ = files = models(tmp_path, "ab")
    limit = CONTEXT_BYTES + 2 * (32 + 35) * MEBIBYTE
    with pool(FakeCard(8 * GIB), limit=limit, provider="tensorrt") as shared:
        shared.expect(files)
        assert shared.request(a).providers[0][1].to_runtime()["trt_max_workspace_size"] == str(64 * MEBIBYTE)
    with pool(FakeCard(8 * GIB), limit=limit) as shared, pytest.raises(ResourceError):
        shared.expect(files)


def test_pictures_that_go_through_a_graph_together_take_as_many_times_its_workspace(tmp_path):
    (a,) = models(tmp_path, "a")
    a = replace(a, workspace=100 * MEBIBYTE)
    limit = CONTEXT_BYTES + (32 + 5 + 399) * MEBIBYTE
    with pool(FakeCard(8 * GIB), limit=limit) as shared:
        shared.expect([a], 3)
        with pytest.raises(ResourceError):
            shared.expect([a], 4)


def test_the_gate_is_narrowed_to_what_fits_unless_the_user_set_it(tmp_path):
    files = models(tmp_path, "abcd")
    workspace_of_two = 4 * (32 + 5 + 2 * 64) * MEBIBYTE
    with pool(FakeCard(CONTEXT_BYTES + workspace_of_two), gate_count=0) as shared:
        shared.expect(files[:1])
        use(shared, files[0])
        assert shared.gate_slots() == {"cuda:0": 1}  # one for each 2 GiB, and there is less
    card = FakeCard(8 * GIB)
    card.others = card.capacity - CONTEXT_BYTES - workspace_of_two
    with pool(card, gate_count=0) as shared:
        shared.expect(files)
        use(shared, *files)
        assert shared.gate_slots() == {"cuda:0": 2}
        shared.expect(files[:1])
        assert shared.gate_slots() == {"cuda:0": 4}
        shared.expect(files)
        use(shared, *files)
        assert len(card.loads) == 4
    card.others = card.capacity - card.taken - workspace_of_two
    with pool(card, gate_count=3) as shared, pytest.raises(ResourceError):
        shared.expect(files)


# --- No thrash ---


def test_frames_of_a_step_that_fits_load_nothing_however_many_there_are(tmp_path):
    card = FakeCard(8 * GIB)
    earlier, files = models(tmp_path, "xyz"), models(tmp_path, "abcd")
    with pool(card, limit=room_for(5)) as shared, ThreadPoolExecutor(4) as workers:
        use(shared, *earlier)
        shared.expect(files)
        list(workers.map(lambda frame: use(shared, *files), range(200)))
        assert sorted(card.loads) == ["a", "b", "c", "d", "x", "y", "z"]
        assert card.most <= room_for(5)


def test_what_the_step_needs_stays_even_where_it_was_used_longest_ago(tmp_path):
    card = FakeCard(8 * GIB)
    a, b, x = models(tmp_path, "abx")
    with pool(card, limit=room_for(2)) as shared:
        use(shared, a, x)
        shared.expect([a, b])
        use(shared, b)
        assert sorted(card.alive) == ["a", "b"]


def test_what_the_step_needs_stays_also_once_the_gate_was_narrowed_under_a_limit(tmp_path):
    """Shares are smaller then, so that all sessions are other ones."""
    card = FakeCard(8 * GIB)
    a, b, x, y = models(tmp_path, "abxy")
    a, b, x, y = (replace(one, workspace=size * MEBIBYTE) for one, size in ((a, 900), (b, 900), (x, 900), (y, 1700)))
    share_of_two_runs = (32 + 5 + 2 * 900) * MEBIBYTE
    with pool(card, limit=CONTEXT_BYTES + 2 * share_of_two_runs, gate_count=0) as shared:
        shared.expect([a, b])
        with shared.lease(a) as lease:
            assert shared.make_room(lease.place)
        assert shared._gates.width(0) == 1
        use(shared, a, b, x, y)
        assert sorted(card.alive) == ["a", "b", "y"]


def test_a_session_of_an_earlier_step_needs_its_file_no_more(tmp_path):
    card = FakeCard(8 * GIB)
    a, b = models(tmp_path, "ab")
    with pool(card) as shared:
        shared.expect([a])
        use(shared, a)
        a.path.unlink()
        shared.expect([b], pictures=4)
        use(shared, b)
        assert sorted(card.alive) == ["a", "b"]


def test_switching_models_and_back_loads_only_what_had_to_go(tmp_path):
    card = FakeCard(8 * GIB)
    shared_files = models(tmp_path, "ab")
    first, second = models(tmp_path, "pq")
    with pool(card, limit=room_for(3)) as shared:
        for turn in (first, second, first):
            shared.expect([*shared_files, turn])
            for _ in range(3):
                use(shared, *shared_files, turn)
        assert card.loads == ["a", "b", "p", "q", "p"]
    roomy = FakeCard(8 * GIB)
    with pool(roomy, limit=room_for(4)) as shared:
        for turn in (first, second, first):
            shared.expect([*shared_files, turn])
            use(shared, *shared_files, turn)
        assert roomy.loads == ["a", "b", "p", "q"]


# --- Estimates that were too low ---


def test_a_session_that_needs_more_than_its_share_gets_a_larger_one(tmp_path):
    card, stop = FakeCard(8 * GIB), StopToken()
    a, b = models(tmp_path, "ab")
    limit = room_for(2) + 200 * MEBIBYTE
    with (
        pool(card, limit=limit, workspaces={"a": 250 * MEBIBYTE}) as shared,
        Interruption(stop) as interruption,
    ):
        shared.expect([a, b])
        run_a, run_b = (PooledGraph(shared, model, interruption).run for model in (a, b))
        run_b(ROW)
        np.testing.assert_array_equal(run_a(ROW)["y"], [[2, 2]])
        assert card.loads == ["b", "a", "a", "a"]
        for _ in range(20):
            run_a(ROW)
            run_b(ROW)
        assert card.loads == ["b", "a", "a", "a"]
        assert card.most <= limit


def test_a_session_that_failed_at_its_first_run_takes_nothing_of_the_card(tmp_path):
    gc.disable()
    try:
        card = FakeCard(8 * GIB)
        a, _ = models(tmp_path, "ab")
        with (
            pool(card, limit=room_for(2), workspaces={"a": 250 * MEBIBYTE}) as shared,
            pytest.raises(DeviceMemoryError) as failed,
        ):
            use(shared, a)
        assert failed.value.__traceback__ is not None
        assert (card.alive, card.taken) == ([], CONTEXT_BYTES)
    finally:
        gc.enable()


def test_a_share_does_not_grow_into_what_others_need(tmp_path):
    card, stop = FakeCard(8 * GIB), StopToken()
    a, b = models(tmp_path, "ab")
    with (
        pool(card, limit=room_for(2) + 100 * MEBIBYTE, workspaces={"a": 250 * MEBIBYTE}) as shared,
        Interruption(stop) as interruption,
    ):
        shared.expect([a, b])
        with pytest.raises(DeviceMemoryError, match="a: no memory left to run on cuda"):
            PooledGraph(shared, a, interruption).run(ROW)
        PooledGraph(shared, b, interruption).run(ROW)
        assert len(card.loads) <= 3
        assert card.most <= room_for(2) + 100 * MEBIBYTE


def test_memory_that_runs_out_though_all_should_fit_does_not_load_with_each_frame(tmp_path):
    card, stop, heard = FakeCard(room_for(2) + 2 * 3 * 64 * MEBIBYTE + 300 * MEBIBYTE), StopToken(), Heard()
    a, b = models(tmp_path, "ab")
    real: dict[str, int] = {}
    with pool(card, gate_count=4, workspaces=real, heard=heard) as shared, Interruption(stop) as interruption:
        shared.expect([a, b])
        run_a, run_b = (PooledGraph(shared, model, interruption).run for model in (a, b))
        run_a(ROW)
        run_b(ROW)
        real |= {"a": 700 * MEBIBYTE, "b": 700 * MEBIBYTE}
        with pytest.raises(DeviceMemoryError):
            for _ in range(100):
                run_a(ROW)
                run_b(ROW)
        assert len(card.loads) <= 12  # of up to 200 runs
        assert [event.message for event in heard.events if isinstance(event, Notice)] == [
            "b: device 0 ran out of memory; 2 graphs run on it at once from now on."
        ]


def test_what_the_step_does_not_need_goes_first_where_memory_runs_out(tmp_path):
    card, stop = FakeCard(8 * GIB, tells_own=False), StopToken()
    a, b, x = models(tmp_path, "abx")
    with pool(card, workspaces={"a": GIB}) as shared, Interruption(stop) as interruption:
        use(shared, b, x)
        shared.expect([a, b])
        card.others = card.capacity - card.taken - GIB + 10 * MEBIBYTE
        PooledGraph(shared, a, interruption).run(ROW)
        assert sorted(card.alive) == ["a", "b"]


# --- Strategies ---


def test_which_sessions_live_when(tmp_path):
    a, b, c = models(tmp_path, "abc")

    def lived(strategy):
        card = FakeCard(8 * GIB)
        with pool(card, strategy=strategy) as shared:
            shared.expect([a, b, c])
            shared.preload([a, b, c])
            states = [sorted(card.alive)]
            use(shared, a, b)  # what sources need
            states.append(sorted(card.alive))
            shared.release_unneeded([b, c])
            states.append(sorted(card.alive))
            use(shared, b, c)  # frames
            states.append(sorted(card.alive))
        assert card.alive == []
        return ["".join(state) for state in states]

    assert lived(MemoryStrategy.CONSERVATIVE) == ["", "ab", "b", "bc"]
    assert lived(MemoryStrategy.BALANCED) == ["", "ab", "ab", "abc"]
    assert lived(MemoryStrategy.AGGRESSIVE) == ["abc", "abc", "abc", "abc"]


def test_aggressive_loading_keeps_within_the_limit_too(tmp_path):
    card = FakeCard(8 * GIB)
    files = models(tmp_path, "abcdef")
    with pool(card, limit=room_for(6), strategy=MemoryStrategy.AGGRESSIVE) as shared:
        shared.expect(files)
        shared.preload(files)
        assert len(card.alive) == 6
        assert card.most <= room_for(6)


def test_each_device_has_its_own_limit(tmp_path):
    first, second = FakeCard(8 * GIB, number=0), FakeCard(8 * GIB, number=1)
    a, b = models(tmp_path, "ab")
    with pool(first, second, limit=room_for(1)) as shared, ThreadPoolExecutor(1) as workers:
        with shared.lease(a):
            workers.submit(use, shared, b).result(10)
        assert (first.alive, second.alive) == (["a"], ["b"])


def test_a_step_has_to_fit_on_every_device(tmp_path):
    large, small = FakeCard(8 * GIB, number=0), FakeCard(1 * GIB, number=1)
    with pool(large, small) as shared, pytest.raises(ResourceError, match=r"1 GB are free on device 1 \(card 1\)"):
        shared.expect(models(tmp_path, "abcdefgh"))


# --- Whatever comes ---


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32 - 1),
    slack=st.integers(0, 300),
    threads=st.integers(2, 6),
    with_limit=st.booleans(),
    tells_own=st.booleans(),
)
def test_threads_that_ask_for_anything_get_it_in_turn_within_the_memory_there_is(
    tmp_path, seed, slack, threads, with_limit, tells_own
):
    dice = Random(seed)
    files = [replace(one, workspace=dice.randrange(300) * MEBIBYTE) for one in models(tmp_path, "abcde", megabytes=1)]
    workspaces = {one.name: max(64 * MEBIBYTE, one.workspace) for one in files}
    largest = max(34 * MEBIBYTE + workspaces[one.name] for one in files)
    bound = CONTEXT_BYTES + largest + slack * MEBIBYTE
    card = FakeCard(8 * GIB if with_limit else bound, tells_own=tells_own)
    orders = [[dice.choice(files) for _ in range(25)] for _ in range(threads)]
    with (
        pool(card, limit=bound if with_limit else None, workspaces=workspaces) as shared,
        ThreadPoolExecutor(threads) as workers,
    ):
        for done in [workers.submit(use, shared, *order) for order in orders]:
            done.result(60)
        assert card.most <= bound
        assert shared.counters.loads + shared.counters.hits == 25 * threads
        assert len(card.loads) == shared.counters.loads
    assert card.alive == []


class Leases(RuleBasedStateMachine):
    """One thread takes and ends leases as it likes; it is refused only where what it holds leaves no room."""

    @initialize(spare=st.integers(0, 250), sizes=st.lists(st.integers(0, 300), min_size=5, max_size=5))
    def begin(self, spare, sizes):
        self.files = [replace(one, workspace=size * MEBIBYTE) for one, size in zip(FILES, sizes, strict=True)]
        self.needs = {one.name: 34 * MEBIBYTE + max(64 * MEBIBYTE, one.workspace) for one in self.files}
        self.room = max(self.needs.values()) + spare * MEBIBYTE
        self.card = FakeCard(8 * GIB)
        workspaces = {one.name: max(64 * MEBIBYTE, one.workspace) for one in self.files}
        self.shared = pool(self.card, limit=CONTEXT_BYTES + self.room, workspaces=workspaces)
        self.held = []

    @rule(number=st.integers(0, 4))
    def take(self, number):
        model = self.files[number]
        leased = {name for name, _, _ in self.held}
        stack = ExitStack()
        fits = model.name in leased or sum(self.needs[name] for name in leased) + self.needs[model.name] <= self.room
        if not fits:
            with pytest.raises(ResourceError):
                stack.enter_context(self.shared.lease(model))
            return
        lease = stack.enter_context(self.shared.lease(model))
        self.held.append((model.name, lease, stack))

    @rule(number=st.integers(0, 9))
    def run(self, number):
        if self.held:
            np.testing.assert_array_equal(self.held[number % len(self.held)][1].run(ROW)["y"], [[2, 2]])

    @rule(number=st.integers(0, 9))
    def end(self, number):
        if self.held:
            self.held.pop(number % len(self.held))[2].close()

    @rule()
    def release(self):
        self.shared.release_unused()

    @invariant()
    def within_the_limit(self):
        if hasattr(self, "card"):
            assert self.card.most <= CONTEXT_BYTES + self.room
            assert {name for name, _, _ in self.held} <= set(self.card.alive)
            assert len(self.card.alive) == len(set(self.card.alive))

    def teardown(self):
        if hasattr(self, "card"):
            for _, _, stack in self.held:
                stack.close()
            self.held.clear()
            self.shared.close()
            assert self.card.alive == []


Leases.TestCase.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)


TestLeases = Leases.TestCase


def test_no_thread_is_left(tmp_path):
    before = threading.active_count()
    card = FakeCard(8 * GIB)
    plan = execution("cuda", devices=(Device(0, "card", card.capacity, card.uuid),), cache=tmp_path)
    with InferencePool(
        plan,
        events=Heard(),
        strategy=MemoryStrategy.AGGRESSIVE,
        idle_seconds=60,
        load=loader(card),
        read=card.read,
    ) as shared:
        shared.preload(models(tmp_path, "ab"))
        use(shared, *models(tmp_path, "ab"))
        assert threading.active_count() == before + 1  # looks for what is idle
    assert threading.active_count() == before
