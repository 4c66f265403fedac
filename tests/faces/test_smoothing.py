"""The filter holds still what is still and follows what moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.faces.landmark.points import eye_distance
from facefusion.faces.smoothing import GAP, HEAD_LAG, MeshSmoother
from tests.faces.stage import CANONICAL


def mesh_at(x=0.0, y=0.0, side=100.0):
    mesh = CANONICAL * np.float32(side)
    mesh[:, :2] += (x, y)
    return mesh


@given(st.lists(st.floats(0.001, 0.4), min_size=1, max_size=20), st.floats(10, 500))
def test_constant_in_constant_out(steps, side):
    smoother, mesh, time = MeshSmoother(), mesh_at(300, 200, side), 0.0
    for step in steps:
        assert np.allclose(smoother.smooth(mesh, time), mesh, atol=1e-3)
        time += step


def test_jitter_is_less_than_half():
    generator = np.random.default_rng(2)
    smoother, raw, steady = MeshSmoother(), [], []
    for index in range(60):
        noisy = mesh_at(300, 200)
        noisy[:, :2] += generator.normal(0, 0.3, (478, 2))
        raw.append(noisy)
        steady.append(smoother.smooth(noisy, index / 25))

    def jitter(meshes):
        return np.abs(np.diff(np.array(meshes)[10:, :, :2], 2, axis=0)).mean()

    assert jitter(steady) < 0.5 * jitter(raw)


@pytest.mark.parametrize("rate", [12, 25, 60])
@pytest.mark.parametrize("speed", [0.2, 1.0, 4.0])
def test_steady_motion_is_followed_closely(rate, speed):
    """The lag of a first-order low-pass on a ramp is speed / (2 pi cut-off), in eye distances here."""
    smoother, size = MeshSmoother(), eye_distance(mesh_at())
    mesh = steady = mesh_at()
    for index in range(rate * 2):
        mesh = mesh_at(speed * size * index / rate)
        steady = smoother.smooth(mesh, index / rate)
    lag = float(np.abs(mesh[:, 0] - steady[:, 0]).max()) / size
    assert lag <= speed / (2 * np.pi * (1.5 + 6 * 0.9 * speed))


def test_variable_frame_rate_is_no_motion():
    times = [0.0, 0.04, 0.05, 0.2, 0.21, 0.5, 0.54]
    smoother, size = MeshSmoother(), eye_distance(mesh_at())
    mesh = steady = mesh_at()
    for time in times:
        mesh = mesh_at(size * time)
        steady = smoother.smooth(mesh, time)
        assert float(np.abs(mesh[:, 0] - steady[:, 0]).max()) / size < 0.1


def test_first_mesh_jump_and_gap_pass_through():
    smoother = MeshSmoother()
    assert np.array_equal(smoother.smooth(mesh_at(100), 0.0), mesh_at(100))
    smoother.smooth(mesh_at(101), 0.04)
    assert np.array_equal(smoother.smooth(mesh_at(300), 0.08), mesh_at(300))
    assert not np.array_equal(smoother.smooth(mesh_at(302), 0.12), mesh_at(302))
    assert np.array_equal(smoother.smooth(mesh_at(304), 0.12 + GAP * 1.1), mesh_at(304))
    assert np.array_equal(smoother.smooth(mesh_at(305), 0.0), mesh_at(305))


def test_reset_forgets():
    smoother = MeshSmoother()
    smoother.smooth(mesh_at(100), 0.0)
    smoother.reset()
    assert np.array_equal(smoother.smooth(mesh_at(105), 0.04), mesh_at(105))


def test_what_it_returns_is_the_callers():
    smoother, mesh = MeshSmoother(), mesh_at(100)
    smoother.smooth(mesh, 0.0)[:] = 0
    second = smoother.smooth(mesh_at(100), 0.04)
    assert np.allclose(second, mesh_at(100), atol=1e-3)
    assert np.array_equal(mesh, mesh_at(100))


def test_quick_lips_do_not_drag_behind_a_still_head():
    smoother, size = MeshSmoother(), eye_distance(mesh_at())
    mesh = steady = mesh_at()
    lips = slice(300, 340)
    for index in range(12):
        mesh = mesh_at()
        mesh[lips, 1] += 2.0 * size * max(0, index - 5) / 25
        steady = smoother.smooth(mesh, index / 25)
    assert float(np.abs(mesh[lips, 1] - steady[lips, 1]).max()) / size < 0.1
    assert np.allclose(steady[:300], mesh_at()[:300], atol=0.01)


@given(
    st.lists(st.tuples(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5), st.floats(0.005, 0.4)), min_size=1, max_size=12),
    st.floats(20, 400),
)
def test_no_motion_leaves_it_behind(moves, side):
    """Whatever the head does within the filter's reach: in leaps, to and fro, at any rate of frames."""
    smoother, x, y, time = MeshSmoother(), 500.0, 400.0, 0.0
    smoother.smooth(mesh_at(x, y, side), time)
    for right, down, step in moves:
        size = eye_distance(mesh_at(side=side))
        x, y, time = x + right * size, y + down * size, time + step
        mesh = mesh_at(x, y, side)
        behind = (smoother.smooth(mesh, time) - mesh)[:, :2]
        assert np.hypot(*np.median(behind, axis=0)) <= HEAD_LAG * size + 1e-3


def test_head_that_starts_at_once_takes_the_mesh_along_and_is_still_again_at_once():
    smoother, size = MeshSmoother(), eye_distance(mesh_at())
    places = [0.0] * 10 + [0.3 * step for step in range(1, 6)] + [1.5] * 30
    lags = []
    for index, place in enumerate(places):
        mesh = mesh_at(place * size)
        steady = smoother.smooth(mesh, index / 25)
        lags.append(float(np.median(mesh[:, 0] - steady[:, 0])) / size)
    assert max(lags) <= HEAD_LAG + 1e-4
    # It never swings beyond where the head is, and comes to rest there.
    assert min(lags) >= -1e-4
    assert abs(lags[-1]) < 0.001
