from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import numpy as np
import pytest

from facefusion.core.stop import StopToken
from facefusion.inference.bare import Division, Share, measure_division, measure_divisions, measure_in_turn
from facefusion.inference.execution import Device
from facefusion.inference.interruption import Interruption
from facefusion.inference.pool import InferencePool
from facefusion.inference.runner import PooledGraph
from facefusion.inference.tally import GraphRuns, RunTally
from tests.inference.fakes import FakeLoader, FakeSession, Heard, execution, file, graph

FLOAT, WHOLE = np.dtype(np.float32), np.dtype(np.int64)


def request(folder):
    return execution().requests(file(folder, "a"), "", Device(0))[0]


@dataclass
class Timed:
    """Loads sessions of which a run takes as long as is said for its number of threads, one caller at a time."""

    seconds: dict[int, float]
    loaded: list[int] = field(default_factory=list)
    fed: list[dict[str, np.ndarray]] = field(default_factory=list)
    clocks: threading.local = field(default_factory=threading.local)

    def load(self, request):
        self.loaded.append(request.model.threads)
        loader = self

        class Session:
            def run(self, inputs):
                loader.fed.append(inputs)
                loader.clocks.now = loader.now() + loader.seconds[request.model.threads]

        return Session()

    def now(self):
        return getattr(self.clocks, "now", 0.0)


@pytest.mark.parametrize(
    ("seconds", "best"),
    [
        ({1: 4.0, 2: 2.0, 4: 1.5}, 1.0),  # four callers, each by itself
        ({1: 4.0, 2: 1.0, 4: 0.6}, 0.5),  # two callers with two threads
        ({1: 8.0, 2: 4.0, 4: 0.25}, 0.25),  # one with four
    ],
)
def test_the_best_use_of_the_cores_counts(tmp_path, seconds, best):
    timed = Timed(seconds)
    found = measure_divisions(request(tmp_path), (("x", (1, 2), FLOAT),), 4, 10.0, load=timed.load, clock=timed.now)
    assert list(found) == [Division(4, 1), Division(2, 2), Division(1, 4)]
    assert min(timing.seconds for timing in found.values()) == pytest.approx(best)
    assert timed.loaded == [1, 2, 4]


def test_one_core_is_one_caller(tmp_path):
    timed = Timed({1: 3.0})
    fed = (("x", (1,), FLOAT),)
    found = measure_divisions(request(tmp_path), fed, 1, 0.0, load=timed.load, clock=timed.now)
    assert {division: timing.seconds for division, timing in found.items()} == {Division(1, 1): 3.0}
    assert timed.loaded == [1]


def test_graphs_take_turns_as_often_as_a_run_asks_for_them(tmp_path):
    """The second graph comes once for three runs of the first, in every four of them."""
    ran = []
    clocks = threading.local()

    def now():
        return getattr(clocks, "now", 0.0)

    def load(request):
        class Session:
            def run(self, inputs):
                clocks.now = now() + {1: 2.0, 2: 5.0}[inputs["x"].size]
                ran.append(inputs["x"].size)

        return Session()

    shares = [Share(request(tmp_path), (("x", (size,), FLOAT),), count) for size, count in ((1, 300), (2, 100))]
    assert measure_in_turn(shares, Division(1, 1), 21.5, load=load, clock=now) == [600.0, 500.0]
    assert ran[:2] == [1, 2]
    assert [sorted(ran[first : first + 4]) for first in (2, 6)] == [[1, 1, 1, 2]] * 2
    ran.clear()
    assert measure_in_turn(shares, Division(4, 1), 110.0, load=load, clock=now) == [150.0, 125.0]
    assert ran.count(1) == 1 + 3 * 4 * 10
    rare = [Share(shares[0].request, shares[0].fed, 1000), Share(shares[1].request, shares[1].fed, 1)]
    assert measure_in_turn(rare, Division(1, 1), 0.0, load=load, clock=now) == [2000.0, 5.0]


def test_runs_that_wait_get_no_share_of_the_processor(tmp_path):
    waiting = FakeSession(work=lambda: time.sleep(0.05))
    wanted, fed = request(tmp_path), (("x", (1,), FLOAT),)
    timing = measure_division(wanted, fed, Division(1, 1), 0.0, load=lambda _: waiting)
    assert timing.seconds >= 0.05
    assert timing.share < 0.5


def test_inputs_have_the_shapes_and_types_that_were_run(tmp_path):
    timed = Timed({1: 1.0})
    fed = (("x", (2, 3), FLOAT), ("step", (1,), WHOLE))
    measure_divisions(request(tmp_path), fed, 1, 0.0, load=timed.load, clock=timed.now)
    for inputs in timed.fed:
        assert {name: (tensor.shape, tensor.dtype) for name, tensor in inputs.items()} == {
            "x": ((2, 3), FLOAT),
            "step": ((1,), WHOLE),
        }
        assert 0 <= inputs["x"].min() < inputs["x"].max() < 1


def test_a_real_graph_takes_time(tmp_path):
    wanted = execution().requests(graph(tmp_path), "", Device(0))[0]
    for timing in measure_divisions(wanted, (("x", (1, 4), FLOAT),), 2, 0.0).values():
        assert timing.seconds > 0
        assert timing.share > 0


def test_runs_are_counted_by_shape(tmp_path):
    model = file(tmp_path, "a")
    tally = RunTally()
    one, two = {"x": np.zeros((1, 4), np.float32)}, {"x": np.zeros((2, 4), np.float32)}
    tally.add(model, one, 1.0)
    tally.add(model, two, 8.0)
    tally.add(model, one, 2.0)
    assert tally.runs() == (
        GraphRuns(model, (("x", (1, 4), FLOAT),), 2, 3.0),
        GraphRuns(model, (("x", (2, 4), FLOAT),), 1, 8.0),
    )
    tally.clear()
    assert tally.runs() == ()


def test_a_pool_counts_what_runs_through_it(tmp_path):
    model = file(tmp_path, "a")
    with InferencePool(execution(), events=Heard(), load=FakeLoader()) as pool:
        runner = PooledGraph(pool, model, Interruption(StopToken()))
        for _ in range(3):
            runner.run({"x": np.zeros((1, 4), np.float32)})
        (runs,) = pool.tally.runs()
    assert (runs.model, runs.fed, runs.count) == (model, (("x", (1, 4), FLOAT),), 3)
