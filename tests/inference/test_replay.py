from __future__ import annotations

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

from facefusion.core.stop import StopToken
from facefusion.inference import session as sessions
from facefusion.inference.execution import Device
from facefusion.inference.interruption import Interruption
from facefusion.inference.pool import InferencePool
from facefusion.inference.providers.base import DeviceMemory
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.replay import RECORDINGS, ReplayedRuns, ReplayError, Traffic
from facefusion.inference.runner import PooledGraph
from facefusion.inference.session import NOBODY, OrtSession
from facefusion.observability.events import Notice
from tests.inference import fake_card
from tests.inference.fake_card import CONTROL_FLOW, Card, Session, affine, rows
from tests.inference.fakes import Heard, execution, graph

CUDA = DeviceMemory("cuda", 0)


@pytest.fixture
def card(monkeypatch):
    made = Card()
    fake_card.install(monkeypatch, made, lambda options: Session(made, records="enable_cuda_graph" in options))
    monkeypatch.setitem(PROVIDERS._providers, "cuda", replace(PROVIDERS["cuda"], prepare=None))
    monkeypatch.setattr(sessions, "_NOT_REPLAYED", set())
    return made


def replayed(tmp_path, name="affine", events=NOBODY):
    plan = replace(execution("cuda"), replay=True)
    return OrtSession(plan.requests(graph(tmp_path, name), "ab" * 32, Device(0))[0], events)


def check(session, count, start=0.0):
    np.testing.assert_array_equal(session.run(rows(count, start))["y"], affine(rows(count, start))["y"])


def test_each_shape_is_recorded_once_and_replayed_from_then_on(card, tmp_path):
    session = replayed(tmp_path)
    for start in range(3):
        for count in (1, 2, 4):
            check(session, count, start)
    assert card.recordings == 3
    assert card.replays == 3 + 2 * 3  # one that is compared, and the runs after the first


def test_a_replay_copies_its_inputs_in_and_its_outputs_out_and_nothing_else(card, tmp_path):
    session = replayed(tmp_path)
    check(session, 1)
    made = card.made
    card.to_card.clear()
    card.to_host.clear()
    for start in range(4):
        check(session, 1, start)
    assert (card.made, card.to_card, card.to_host) == (made, [16] * 4, [16] * 4)


def test_all_runs_of_a_session_are_of_one_thread_whoever_calls(card, tmp_path):
    session = replayed(tmp_path)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda start: check(session, 1 + start % 3, start), range(60)))
    assert card.recordings == 3


def test_shapes_beyond_the_number_of_recordings_run_without(card, tmp_path):
    session = replayed(tmp_path)
    for count in range(1, RECORDINGS + 5):
        check(session, count)
        check(session, count, 1)
    assert card.recordings == RECORDINGS


def test_nobody_uses_the_card_while_another_session_is_recorded(card, tmp_path):
    card.record_seconds = 0.01
    plain = OrtSession(execution("cuda").requests(graph(tmp_path, "plain"), "cd" * 32, Device(0))[0])
    recorded = [replayed(tmp_path, name) for name in ("a", "b", "c")]
    more = graph(tmp_path, "more")
    over = threading.Event()

    def run_on():
        while not over.is_set():
            check(plain, 2)
            OrtSession(execution("cuda").requests(more, "ef" * 32, Device(0))[0])

    with ThreadPoolExecutor(5) as threads:
        others = [threads.submit(run_on) for _ in range(2)]
        for _ in threads.map(lambda session: [check(session, count) for count in (1, 2, 3)], recorded):
            pass
        over.set()
        for other in others:
            other.result()
    assert card.recordings == 9


def test_nothing_is_left_on_the_card_nor_a_thread_once_the_session_is_gone(card, tmp_path):
    session = replayed(tmp_path)
    check(session, 1)
    check(session, 2)
    before = {thread.name for thread in threading.enumerate()}
    assert any(name.startswith("replay") for name in before)
    del session
    gc.collect()
    assert card.taken == 0
    end = time.monotonic() + 10
    while any(thread.name.startswith("replay") for thread in threading.enumerate()) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(thread.name.startswith("replay") for thread in threading.enumerate())


@pytest.fixture
def said():
    return Heard()


def without(reason):
    return Notice(f"affine runs without CUDA graphs: {reason}", warning=True)


def test_a_graph_that_cannot_be_recorded_is_loaded_without_and_it_is_said_once(card, monkeypatch, tmp_path, said):
    def make(options):
        if "enable_cuda_graph" in options:
            raise RuntimeError(CONTROL_FLOW)
        return Session(card)

    made = fake_card.install(monkeypatch, card, make)
    for _ in range(3):
        check(replayed(tmp_path, events=said), 2)
    assert ["enable_cuda_graph" in options for options in made] == [True, False, False, False]
    assert said.events == [
        without(
            "This session cannot use the graph capture feature as requested by the user "
            "as the model has control flow nodes which can't be supported by CUDAExecutionProvider"
        )
    ]


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ({"fails_to_record": "CUDA failure 906: capture was invalidated"}, "CUDA failure 906: capture was invalidated"),
        ({"skewed_replay": True}, "a replay gives other numbers for y"),
    ],
)
def test_a_graph_whose_recording_fails_runs_without_and_it_is_said_once(
    card, monkeypatch, tmp_path, said, trouble, reason
):
    def make(options):
        return Session(card, records="enable_cuda_graph" in options, **trouble)

    made = fake_card.install(monkeypatch, card, make)
    for _ in range(2):
        session = replayed(tmp_path, events=said)
        for start in (0, 1, 2):
            check(session, 2, start)
    assert ["enable_cuda_graph" in options for options in made] == [True, False, False]
    assert said.events == [without(reason)]


def test_numbers_that_are_none_do_not_count_against_a_replay(card, monkeypatch, tmp_path, said):
    def ratio(inputs):
        with np.errstate(all="ignore"):
            return {"y": inputs["x"] / np.float32(0) * inputs["x"]}

    fake_card.install(monkeypatch, card, lambda options: Session(card, ratio, records="enable_cuda_graph" in options))
    session = replayed(tmp_path, events=said)
    zeros = {"x": np.zeros((1, 4), np.float32)}
    assert np.isnan(session.run(zeros)["y"]).all()
    assert np.isnan(session.run(zeros)["y"]).all()
    assert (card.recordings, said.events) == (1, [])


def test_callers_who_wait_while_a_recording_fails_get_their_results_all_the_same(card, monkeypatch, tmp_path, said):
    card.record_seconds = 0.02

    def make(options):
        return Session(card, records="enable_cuda_graph" in options, fails_to_record="CUDA failure 906")

    made = fake_card.install(monkeypatch, card, make)
    session = replayed(tmp_path, events=said)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda start: check(session, 1 + start % 2, start), range(40)))
    assert len(made) == 2
    assert said.events == [without("CUDA failure 906")]


def test_what_failed_lets_go_of_its_session_before_another_is_made(card, tmp_path):
    runs = ReplayedRuns(Session(card, records=True, fails_to_record="CUDA failure 906"), CUDA, Traffic())
    with pytest.raises(ReplayError, match="CUDA failure 906"):
        runs.run(rows(1), None)
    gc.collect()
    assert card.taken == 0
    with pytest.raises(ReplayError, match="CUDA failure 906"):
        runs.run(rows(1), None)


def test_a_stop_goes_along_with_a_replay(card, tmp_path):
    session = replayed(tmp_path)
    check(session, 1)
    options = onnxruntime.RunOptions()
    session.run(rows(1), options)
    assert options.get_run_config_entry("gpu_graph_id") == "1"  # the caller's own, which it may end the run by


@pytest.mark.parametrize("replay", [False, True])
def test_graphs_of_a_pool_run_on_the_card_for_many_and_leave_nothing_there(card, tmp_path, replay):
    card.record_seconds = 0.002
    plan = replace(execution("cuda", cache=tmp_path), replay=replay)
    models = [graph(tmp_path, name) for name in ("a", "b", "c")]
    with InferencePool(plan, events=Heard()) as pool, Interruption(StopToken()) as interruption:
        runners = [PooledGraph(pool, model, interruption) for model in models]

        def call(number):
            inputs = rows(1 + number % 4, number)
            np.testing.assert_array_equal(runners[number % 3].run(inputs)["y"], affine(inputs)["y"])
            if number % 20 == 0:
                pool.release_unused()

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(call, range(120)))
        call(1)  # the last release may have come when all was done
        assert pool.counters.loads >= 3
        assert (card.recordings > 0) == replay
        assert card.taken > 0
    gc.collect()
    assert card.taken == 0


def test_one_goes_alone_while_others_go_together():
    traffic, order = Traffic(), []
    inside, leave = threading.Barrier(3), threading.Event()

    def together():
        with traffic.shared():
            inside.wait(10)
            leave.wait(10)
            order.append("together")

    def alone():
        with traffic.alone():
            order.append("alone")

    def late():
        with traffic.shared():
            order.append("late")

    with ThreadPoolExecutor(4) as threads:
        begun = [threads.submit(together) for _ in range(2)]
        inside.wait(10)
        begun.append(threads.submit(alone))
        while not traffic._waiting:
            time.sleep(0.001)
        begun.append(threads.submit(late))
        leave.set()
        for one in begun:
            one.result(10)
    assert order == ["together", "together", "alone", "late"]
