"""Which way to divide the cores is chosen for a graph, and how long that is known."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from facefusion.core.graph import GraphSignature, GraphValue
from facefusion.core.values import Tensor
from facefusion.inference import calibration
from facefusion.inference.bare import Division, Timing
from facefusion.inference.calibration import MOST_GRAPHS, ThreadPlans, choose, closed_shapes
from facefusion.inference.execution import Device
from facefusion.inference.pool import InferencePool
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession
from tests.inference.fakes import FakeSession, Heard, execution, file

FLOAT = np.dtype(np.float32)
FED = (("x", (1, 4), FLOAT),)
MANY, SOME, ONE = Division(4, 1), Division(2, 2), Division(1, 4)
DIGEST = "ab" * 32
SEVERAL = GraphSignature({"x": GraphValue((None, 4), FLOAT)}, {"y": GraphValue((None, 4), FLOAT)})


@dataclass
class Graphs:
    """Loads graphs that differ from those of one thread on so many threads, for so many pictures."""

    differ: Mapping[int, int] = field(default_factory=dict)
    signature: GraphSignature = SEVERAL

    def __call__(self, request: LoadRequest) -> FakeSession:
        session = FakeSession()
        session.signature = self.signature
        plain, threads = session.run, request.model.threads

        def run(inputs: Mapping[str, Tensor], options: object = None) -> dict[str, Tensor]:
            outputs = plain(inputs)
            if self.differ.get(threads) == len(inputs["x"]):
                outputs["y"] = np.nextafter(outputs["y"], np.float32(9))
            return outputs

        session.run = run  # type: ignore[method-assign]
        return session


def timings(seconds: Mapping[Division, float], share: float = 1.0) -> dict[Division, Timing]:
    return {division: Timing(one, share) for division, one in seconds.items()}


def chosen(
    folder: Path,
    measured: Mapping[Division, float],
    again: Mapping[Division, float] | None = None,
    graphs: Graphs | None = None,
    shares: tuple[float, float] = (1.0, 1.0),
) -> Division | None:
    request = execution().requests(file(folder, "a"), DIGEST, Device(0))[0]
    second = timings(again or measured, shares[1])
    return choose(request, FED, timings(measured, shares[0]), second.__getitem__, load=graphs or Graphs())


@pytest.mark.parametrize(
    ("seconds", "best"),
    [
        ((1.0, 1.2, 1.5), MANY),
        ((1.0, 0.91, 0.95), MANY),  # not clearly
        ((1.0, 0.8, 0.85), SOME),
        ((1.0, 0.8, 0.5), ONE),
    ],
)
def test_one_thread_for_each_run_unless_another_way_is_clearly_faster(tmp_path, seconds, best):
    assert chosen(tmp_path, dict(zip((MANY, SOME, ONE), seconds, strict=True))) == best


def test_what_does_not_show_again_is_not_believed(tmp_path):
    measured = {MANY: 1.0, SOME: 0.85, ONE: 0.5}
    assert chosen(tmp_path, measured, {MANY: 1.0, SOME: 0.8, ONE: 0.95}) == SOME
    assert chosen(tmp_path, measured, {MANY: 0.5, SOME: 0.8, ONE: 0.5}) == MANY


@pytest.mark.parametrize("shares", [(0.8, 1.0), (1.0, 0.8)])
def test_a_busy_machine_tells_nothing(tmp_path, shares):
    assert chosen(tmp_path, {MANY: 1.0, SOME: 0.5, ONE: 0.6}, shares=shares) is None


def test_a_way_that_gives_other_bits_is_not_taken(tmp_path):
    measured = {MANY: 1.0, SOME: 0.8, ONE: 0.5}
    assert chosen(tmp_path, measured, graphs=Graphs(differ={4: 1})) == SOME
    assert (
        chosen(tmp_path, measured, graphs=Graphs(differ={4: 3})) == SOME
    )  # of three pictures that go through it together
    assert chosen(tmp_path, measured, graphs=Graphs(differ={4: 1, 2: 1})) == MANY
    fixed = GraphSignature({"x": GraphValue((1, 4), FLOAT)}, {"y": GraphValue((1, 4), FLOAT)})
    assert chosen(tmp_path, measured, graphs=Graphs(differ={4: 3}, signature=fixed)) == ONE


def test_embedded_models_give_the_same_bits_on_any_number_of_threads(embedded_models):
    faster = timings({MANY: 1.0, ONE: 0.5})
    for name in ("yunet", "face_mesh", "sface", "open_nsfw"):
        model = ModelFile(name, embedded_models.ensure(embedded_models.catalogue.card(name)))
        request = execution().requests(model, DIGEST, Device(0))[0]
        fed = closed_shapes(OrtSession(request).signature) or (("input", (1, 3, 160, 224), FLOAT),)
        assert choose(request, fed, faster, faster.__getitem__) == ONE, name


def test_what_a_graph_is_fed_follows_from_what_it_declares():
    whole = np.dtype(np.int64)
    inputs = {"x": GraphValue((None, 3, 8, 8), FLOAT), "step": GraphValue((1,), whole)}
    assert closed_shapes(GraphSignature(inputs, {})) == (("x", (1, 3, 8, 8), FLOAT), ("step", (1,), whole))
    assert closed_shapes(GraphSignature({"x": GraphValue((1, 3, None, 8), FLOAT)}, {})) is None
    assert closed_shapes(GraphSignature({"x": GraphValue((1,), np.dtype(object))}, {})) is None


def test_a_choice_is_known_to_later_processes_of_the_same_kind(tmp_path, monkeypatch):
    path = tmp_path / "caches" / "threads.json"
    ThreadPlans(path, "1", 4).remember(DIGEST, SOME)
    later = ThreadPlans(path, "1", 4)
    assert later.of(DIGEST) == SOME
    model = ModelFile("a", tmp_path / "a.onnx")
    assert later.apply(model, DIGEST) == replace(model, threads=2, callers=2)
    assert later.apply(model, "cd" * 32) == model
    assert ThreadPlans(path, "2", 4).of(DIGEST) is None
    assert ThreadPlans(path, "1", 8).of(DIGEST) is None
    monkeypatch.setattr(calibration, "instruction_sets", lambda: "another processor")
    assert ThreadPlans(path, "1", 4).of(DIGEST) is None


def test_choices_of_two_processes_are_both_kept_and_their_number_is_bounded(tmp_path):
    path = tmp_path / "threads.json"
    one, other = ThreadPlans(path, "1", 4), ThreadPlans(path, "1", 4)
    one.remember("a", SOME)
    other.remember("b", ONE)
    third = ThreadPlans(path, "1", 4)
    assert (third.of("a"), third.of("b")) == (SOME, ONE)
    path.write_text(json.dumps({str(number): [1, 1] for number in range(MOST_GRAPHS)}))
    third.remember("c", MANY)
    assert len(json.loads(path.read_text())) == MOST_GRAPHS
    assert ThreadPlans(path, "1", 4).of("c") == MANY


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 3}', '{"a": [1, "x"]}', "5", "[" * 100_000], ids=str.__len__)
def test_a_damaged_file_counts_as_none(tmp_path, content):
    path = tmp_path / "threads.json"
    path.write_text(content)
    plans = ThreadPlans(path, "1", 4)
    plans.remember(DIGEST, ONE)
    assert ThreadPlans(path, "1", 4).of(DIGEST) == ONE


@pytest.mark.parametrize(("callers", "threads"), [(1, 100_000), (4, 2), (5, 1)])
def test_more_threads_than_cores_were_never_chosen(tmp_path, callers, threads):
    path = tmp_path / "threads.json"
    ThreadPlans(path, "1", 4).remember(DIGEST, Division(callers, threads))
    plans = ThreadPlans(path, "1", 4)
    assert plans.of(DIGEST) is None
    model = ModelFile("layers", tmp_path / "layers.onnx")
    assert plans.apply(model, DIGEST) is model


def test_where_nothing_can_be_written_a_choice_holds_for_the_process(tmp_path):
    (tmp_path / "caches").write_bytes(b"a file")
    plans = ThreadPlans(tmp_path / "caches" / "threads.json", "1", 4)
    plans.remember(DIGEST, ONE)
    assert plans.of(DIGEST) == ONE


@pytest.mark.parametrize(("threads", "callers", "most"), [(2, 2, 2), (4, 1, 1), (1, 4, 6), (4, 0, 6)])
def test_runs_on_several_threads_leave_cores_for_each_other(tmp_path, threads, callers, most):
    inside, seen, lock, all_in = 0, [], threading.Lock(), threading.Barrier(most)

    def work() -> None:
        nonlocal inside
        with lock:
            inside += 1
            seen.append(inside)
        all_in.wait(30)
        time.sleep(0.01)
        with lock:
            inside -= 1

    model = replace(file(tmp_path, "a"), threads=threads, callers=callers)
    with InferencePool(execution(), events=Heard(), load=lambda _: FakeSession(work=work)) as pool:

        def run(_: int) -> None:
            with pool.lease(model) as lease:
                lease.run({"x": np.zeros((1, 4), np.float32)})

        with ThreadPoolExecutor(6) as workers:
            list(workers.map(run, range(6)))
    assert max(seen) == most
