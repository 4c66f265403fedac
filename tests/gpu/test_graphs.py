"""Graphs on a card give the CPU's numbers, in whichever way they are run."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from facefusion.inference.session import DeviceMemoryError
from scripts.gpu_check.graphs import HandedOver, Place, load, noise
from tests.inference.fakes import graph

pytestmark = pytest.mark.gpu

MODELS = {"yunet": 255, "face_mesh": 1, "sface": 255}
"""Embedded models that every face goes through, and what their inputs reach to."""
FULL, ROUNDED, HALF = 2e-3, 2e-2, 3e-2
"""Most that an output may differ from the CPU's, over its largest value: in full precision, with factors that tensor
cores round (which nothing keeps TensorRT from), and in half."""


def on_cpu(path):
    return load(Place("cpu", Path()).request(path))


def fed(session, name):
    return {entry: tensor * MODELS[name] for entry, tensor in noise(session.signature).items()}


def check(outputs, expected, tolerance):
    assert outputs.keys() == expected.keys()
    for name, wanted in expected.items():
        assert outputs[name].shape == wanted.shape
        assert np.abs(outputs[name] - wanted).max() <= tolerance * max(1.0, float(np.abs(wanted).max())), name


@pytest.mark.parametrize("name", MODELS)
def test_a_graph_runs_on_the_card_and_gives_the_cpus_numbers(place, model_path, name):
    session = load(place.request(model_path(name), "full"))
    assert session.provider == place.provider
    inputs = fed(session, name)
    tolerance = ROUNDED if place.provider == "tensorrt" else FULL
    check(session.run(inputs), on_cpu(model_path(name)).run(inputs), tolerance)


@pytest.mark.parametrize("name", MODELS)
def test_half_precision_comes_near_them(place, model_path, name):
    session = load(place.request(model_path(name), "half"))
    inputs = fed(session, name)
    check(session.run(inputs), on_cpu(model_path(name)).run(inputs), HALF)


def test_buffers_that_stay_on_the_card_change_no_number(place, model_path):
    request = place.request(model_path("face_mesh"))
    bound, handed_over = load(request), load(request, HandedOver)
    for seed in range(3):
        inputs = {
            name: np.random.default_rng(seed).random(tensor.shape, np.float32)
            for name, tensor in noise(bound.signature).items()
        }
        check(bound.run(inputs), handed_over.run(inputs), 1e-4)


def test_replayed_launches_change_no_number(cuda, model_path):
    path = model_path("face_mesh")
    replayed, plain = load(cuda.request(path, replay=True)), load(cuda.request(path))
    for seed in range(5):
        inputs = {
            name: np.random.default_rng(seed).random(tensor.shape, np.float32)
            for name, tensor in noise(plain.signature).items()
        }
        check(replayed.run(inputs), plain.run(inputs), 1e-4)


@pytest.mark.parametrize("replay", [False, True])
def test_numbers_of_pictures_may_change_from_run_to_run(place, tmp_path, replay):
    session = load(place.request(graph(tmp_path).path, "full", replay=replay and place.provider == "cuda"))
    for count in (1, 4, 2, 3, 1, 4):
        rows = np.random.default_rng(count).random((count, 4), np.float32)
        np.testing.assert_allclose(session.run({"x": rows})["y"], 3 * rows + 1, rtol=ROUNDED)


@pytest.mark.parametrize("replay", [False, True])
def test_threads_that_call_at_once_get_their_own_numbers(place, model_path, replay):
    path = model_path("face_mesh")
    session = load(place.request(path, replay=replay and place.provider == "cuda"))
    shapes = {name: tensor.shape for name, tensor in noise(session.signature).items()}
    given = [
        {name: np.random.default_rng(seed).random(shape, np.float32) for name, shape in shapes.items()}
        for seed in range(24)
    ]
    alone = [session.run(inputs) for inputs in given]
    with ThreadPoolExecutor(8) as threads:
        for outputs, expected in zip(threads.map(session.run, given), alone, strict=True):
            check(outputs, expected, 1e-4)


def test_recording_one_graph_while_others_run_disturbs_neither(cuda, model_path, tmp_path):
    busy = load(cuda.request(model_path("sface")))
    inputs = noise(busy.signature)
    expected, over = busy.run(inputs), threading.Event()

    def run_on():
        while not over.is_set():
            check(busy.run(inputs), expected, 1e-4)

    with ThreadPoolExecutor(2) as threads:
        others = [threads.submit(run_on) for _ in range(2)]
        try:
            recorded = load(cuda.request(graph(tmp_path).path, "full", replay=True))
            for count in (1, 2, 3, 4):
                rows = np.full((count, 4), count, np.float32)
                np.testing.assert_allclose(recorded.run({"x": rows})["y"], 3 * rows + 1, rtol=1e-3)
        finally:
            over.set()
        for other in others:
            other.result()


def test_a_graph_that_does_not_fit_its_limit_is_refused_and_the_next_one_runs(cuda, card, model_path):
    assert card.total_memory > 1 << 30
    request = cuda.request(model_path("sface"))
    small = request.with_options(lambda options: replace(options, memory_limit=1 << 20))
    with pytest.raises(DeviceMemoryError):
        session = load(small)
        session.run(noise(session.signature))
    session = load(request)
    assert session.run(noise(session.signature))
