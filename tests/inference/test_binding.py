from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from facefusion.inference.binding import IDLE_SETS, BoundRuns
from facefusion.inference.providers.base import DeviceMemory
from tests.inference import fake_card
from tests.inference.fake_card import Card, Session, affine, rows
from tests.inference.fakes import graph

CUDA = DeviceMemory("cuda", 0)
HOST = DeviceMemory("cpu", 0)


@pytest.fixture
def card(monkeypatch):
    made = Card()
    fake_card.install(monkeypatch, made, lambda options: Session(made))
    return made


def test_a_run_copies_its_inputs_in_and_its_outputs_out_and_nothing_else(card):
    runs = BoundRuns(Session(card), CUDA)
    for start in range(5):
        results = runs.run(rows(2, start), None)
        np.testing.assert_array_equal(results["y"], affine(rows(2, start))["y"])
    assert (card.to_card, card.to_host) == ([32] * 5, [32] * 5)


def test_buffers_are_made_once_and_used_again(card):
    runs = BoundRuns(Session(card), CUDA)
    for start in range(5):
        runs.run(rows(2, start), None)
    assert card.made == 2
    assert card.taken == 64


def test_other_shapes_and_types_get_buffers_of_their_own(card):
    runs = BoundRuns(Session(card), CUDA)
    for count in (1, 2, 1, 2):
        np.testing.assert_array_equal(runs.run(rows(count), None)["y"], affine(rows(count))["y"])
    assert card.made == 4
    double: dict[str, Any] = {"x": rows(1)["x"].astype(np.float64)}
    assert runs.run(double, None)["y"].dtype == np.float64
    assert card.made == 6


def test_results_belong_to_the_caller(card):
    runs = BoundRuns(Session(card), CUDA)
    first = runs.run(rows(1), None)["y"]
    kept = first.copy()
    runs.run(rows(1, 100), None)
    np.testing.assert_array_equal(first, kept)


def test_rows_that_lie_apart_are_put_together(card):
    spread = np.arange(16, dtype=np.float32).reshape(2, 8)[:, ::2]
    results = BoundRuns(Session(card), CUDA).run({"x": spread}, None)
    np.testing.assert_array_equal(results["y"], 3 * spread + 1)


@settings(max_examples=20)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=60))
def test_as_many_sets_wait_as_may_whatever_the_shapes(counts):
    with pytest.MonkeyPatch.context() as patch:
        card = Card()
        fake_card.install(patch, card, lambda options: Session(card))
        runs = BoundRuns(Session(card), CUDA, idle=3)
        for count in counts:
            runs.run(rows(count), None)
        last = list(dict.fromkeys(reversed(counts)))[:3]
        assert card.taken == sum(2 * count * 16 for count in last)


def test_sets_that_wait_take_no_more_memory_than_they_may_but_for_the_last(card):
    runs = BoundRuns(Session(card), CUDA, idle_bytes=100)
    for count in (1, 1, 2, 3):
        runs.run(rows(count), None)
    assert card.taken == 2 * 3 * 16  # 96 bytes: no other fits beside it
    runs.run(rows(1), None)
    assert card.taken == 2 * 16
    runs.run(rows(2), None)
    assert card.taken == 2 * 16 + 2 * 2 * 16
    runs.run(rows(9), None)
    assert card.taken == 2 * 9 * 16


def test_callers_at_once_get_sets_of_their_own_and_right_numbers(card):
    callers = 6
    together = threading.Barrier(callers)

    def compute(inputs):
        before = inputs["x"].copy()
        together.wait(10)
        np.testing.assert_array_equal(inputs["x"], before)  # nobody wrote into this caller's buffer
        return affine(inputs)

    runs = BoundRuns(Session(card, compute), CUDA)
    with ThreadPoolExecutor(callers) as threads:
        for _ in range(3):
            results = list(threads.map(lambda start: runs.run(rows(2, start), None)["y"], range(callers)))
            for start, result in enumerate(results):
                np.testing.assert_array_equal(result, affine(rows(2, start))["y"])
    assert card.made == 2 * callers
    assert callers <= IDLE_SETS


def test_nothing_is_left_on_the_card_once_the_session_is_gone(card):
    session = Session(card)
    runs = BoundRuns(session, CUDA)
    for count in range(1, 6):
        runs.run(rows(count), None)
    assert card.taken
    del runs, session
    gc.collect()
    assert card.taken == 0


def test_after_a_failure_a_set_is_not_used_again(card):
    session = Session(card)
    runs = BoundRuns(session, CUDA)
    runs.run(rows(1), None)
    session.broken = True
    with pytest.raises(RuntimeError, match="CUDA failure 901"):
        runs.run(rows(1), None)
    gc.collect()
    assert card.taken == 0
    session.broken = False
    np.testing.assert_array_equal(runs.run(rows(1), None)["y"], affine(rows(1))["y"])


def test_a_run_that_fails_lets_go_of_what_lies_idle(card):
    runs = BoundRuns(Session(card), CUDA)
    for count in (1, 2, 3):
        runs.run(rows(count), None)
    card.capacity = card.taken
    with pytest.raises(RuntimeError, match="smaller than requested"):
        runs.run(rows(6), None)
    gc.collect()
    assert card.taken == 0
    np.testing.assert_array_equal(runs.run(rows(6), None)["y"], affine(rows(6))["y"])


def test_a_card_without_room_for_the_buffers_says_so(card):
    card.capacity = 100
    with pytest.raises(RuntimeError, match="Available memory of 4 is smaller than requested bytes of 96"):
        BoundRuns(Session(card), CUDA).run(rows(6), None)


def finds(inputs):
    return {"y": inputs["x"][inputs["x"] > 0]}


def test_outputs_whose_shape_depends_on_the_numbers_are_made_anew(card):
    runs = BoundRuns(Session(card, finds), CUDA)
    for start in (0, 0, -3, -9, 5):
        np.testing.assert_array_equal(runs.run(rows(1, start), None)["y"], finds(rows(1, start))["y"])


def real(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def test_a_real_graph_gives_the_same_numbers_on_bound_memory(tmp_path):
    session = real(str(graph(tmp_path).path))
    runs = BoundRuns(session, HOST)
    generator = np.random.default_rng(0)
    for count in (1, 3, 1, 3, 2):
        inputs = {"x": generator.normal(size=(count, 4)).astype(np.float32)}
        np.testing.assert_array_equal(runs.run(inputs, None)["y"], session.run(["y"], inputs)[0])


def test_a_real_graph_runs_for_many_callers_on_bound_memory(tmp_path):
    session = real(str(graph(tmp_path).path))
    runs = BoundRuns(session, HOST)

    def call(seed):
        inputs = {"x": np.random.default_rng(seed).normal(size=(1 + seed % 3, 4)).astype(np.float32)}
        np.testing.assert_array_equal(runs.run(inputs, None)["y"], session.run(["y"], inputs)[0])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(call, range(200)))


def test_a_real_graph_that_lists_what_it_finds_runs_on_bound_memory():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])
    places = helper.make_tensor_value_info("places", TensorProto.INT64, [2, "k"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])
    nodes = [helper.make_node("NonZero", ["x"], ["places"]), helper.make_node("Mul", ["x", "x"], ["y"])]
    model = helper.make_model(
        helper.make_graph(nodes, "finds", [x], [places, y]),
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)],
    )
    onnx.checker.check_model(model)
    session = real(model.SerializeToString())
    runs = BoundRuns(session, HOST)
    quiet = onnxruntime.RunOptions()
    quiet.log_severity_level = 4
    for numbers in ([1, 0, 2, 0], [1, 0, 2, 0], [1, 1, 1, 1], [0, 0, 0, 0], [3, 0, 0, 0]):
        inputs = {"x": np.array([numbers], np.float32)}
        for name, expected in zip(("places", "y"), session.run(None, inputs), strict=True):
            np.testing.assert_array_equal(runs.run(inputs, quiet)[name], expected)


def test_embedded_models_give_the_same_numbers_on_bound_memory(model_path):
    for name in ("yunet", "face_mesh", "sface"):
        session = real(str(model_path(name)))
        runs = BoundRuns(session, HOST)
        generator = np.random.default_rng(0)
        for _ in range(2):
            inputs = {
                entry.name: generator.random([size if isinstance(size, int) else 1 for size in entry.shape], np.float32)
                for entry in session.get_inputs()
            }
            expected = session.run(None, inputs)
            for output, wanted in zip(runs.run(inputs, None).values(), expected, strict=True):
                np.testing.assert_array_equal(output, wanted)
