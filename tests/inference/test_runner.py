from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from facefusion.core.errors import ModelError, Stopped
from facefusion.core.graph import GraphRunner
from facefusion.core.stop import StopToken
from facefusion.inference.interruption import Interruption
from facefusion.inference.pool import InferencePool
from facefusion.inference.runner import PooledGraph
from facefusion.inference.session import DeviceMemoryError, OrtSession
from tests.inference.fakes import FakeLoader, FakeSession, Heard, endless_graph, execution, file, graph

UNSTOPPED = Interruption(StopToken())


def pool(load=OrtSession, *providers):
    return InferencePool(execution(*providers), events=Heard(), load=load)


def test_a_pooled_graph_runs_from_many_threads(tmp_path):
    inputs = [np.full((number + 1, 4), number, np.float32) for number in range(32)]
    with pool() as shared, ThreadPoolExecutor(8) as workers:
        runner: GraphRunner = PooledGraph(shared, graph(tmp_path), UNSTOPPED)
        results = list(workers.map(lambda rows: runner.run({"x": rows})["y"], inputs))
        assert shared.counters.loads == 1
    for rows, got in zip(inputs, results, strict=True):
        np.testing.assert_array_equal(got, 3 * rows + 1)


@pytest.mark.parametrize(("given", "said"), [({}, "none"), ({"data": 1}, "data"), ({"x": 1, "data": 1}, "data, x")])
def test_inputs_of_other_names_are_refused(tmp_path, given, said):
    with pool() as shared, pytest.raises(ModelError) as refused:
        PooledGraph(shared, graph(tmp_path), UNSTOPPED).run(dict.fromkeys(given, np.zeros((1, 4), np.float32)))
    assert str(refused.value) == (
        f"affine: the graph takes the inputs x and was given {said}. "
        "Its file is another model than the catalogue says: delete it and fetch it with force-download, "
        "or bring the right one."
    )


def test_out_of_memory_in_a_run_releases_the_others_and_tries_once_more(tmp_path):
    failing = [True, False]

    def work():
        if failing and failing.pop(0):
            raise DeviceMemoryError("a: no memory left to run on cpu")

    def make(request):
        return FakeSession(work=work if request.model.name == "a" else lambda: None)

    ones = {"x": np.ones((1, 2), np.float32)}
    with pool(FakeLoader(make)) as shared:
        PooledGraph(shared, file(tmp_path, "b"), UNSTOPPED).run(ones)
        np.testing.assert_array_equal(PooledGraph(shared, file(tmp_path, "a"), UNSTOPPED).run(ones)["y"], [[2, 2]])
        assert shared.counters.evictions == 1
        failing[:] = [True]
        with pytest.raises(DeviceMemoryError, match="a: no memory left to run on cpu"):
            PooledGraph(shared, file(tmp_path, "a"), UNSTOPPED).run(ones)


def test_no_run_begins_after_a_stop(tmp_path):
    stop = StopToken()
    ran = []

    def work():
        ran.append(True)
        stop.request("Ctrl-C")

    ones = {"x": np.ones((1, 2), np.float32)}
    with pool(FakeLoader(lambda request: FakeSession(work=work))) as shared, Interruption(stop) as interruption:
        runner = PooledGraph(shared, file(tmp_path, "a"), interruption)
        runner.run(ones)
        with pytest.raises(Stopped, match="Ctrl-C"):
            runner.run(ones)
    assert len(ran) == 1


def test_a_stop_ends_a_run_that_is_under_way(tmp_path, capfd):
    stop = StopToken()
    before = set(threading.enumerate())
    with pool() as shared, Interruption(stop) as interruption, ThreadPoolExecutor(2) as workers:
        runner = PooledGraph(shared, endless_graph(tmp_path), interruption)
        runs = [workers.submit(runner.run, {"x": np.ones(1, np.float32)}) for _ in range(2)]
        while shared.counters.loads + shared.counters.hits < 2:
            time.sleep(0.01)
        stop.request("Ctrl-C")
        for run in runs:
            with pytest.raises(Stopped, match="Ctrl-C"):
                run.result()
    assert set(threading.enumerate()) <= before
    assert capfd.readouterr().err == ""


def test_a_failure_without_a_stop_stays_what_it_is(tmp_path):
    with pool() as shared, Interruption(StopToken()) as interruption, pytest.raises(ModelError, match="affine"):
        PooledGraph(shared, graph(tmp_path), interruption).run({"x": np.ones((1, 3), np.float32)})


def test_a_graph_can_be_asked_what_it_takes_and_gives(tmp_path):
    with pool() as shared:
        signature = PooledGraph(shared, graph(tmp_path), UNSTOPPED).signature
    assert {name: (value.shape, value.dtype) for name, value in signature.inputs.items()} == {
        "x": ((None, 4), np.dtype(np.float32))
    }
    assert list(signature.outputs) == ["y"]
