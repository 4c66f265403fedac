from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.assets.frames import Arc, Axes, smoothstep

coordinate = st.floats(-500.0, 500.0)


@given(coordinate, coordinate, st.floats(1.0, 200.0), st.floats(-3.1, 3.1), coordinate, coordinate)
def test_local_axes_lead_there_and_back(x: float, y: float, length: float, angle: float, px: float, py: float) -> None:
    left = np.array([x, y])
    axes = Axes.between(left, left + length * np.array([np.cos(angle), np.sin(angle)]))
    points = np.array([[px, py]])
    np.testing.assert_allclose(axes.to_points(*axes.to_local(points)), points, atol=1e-6)


def test_corners_lie_half_a_span_from_the_middle() -> None:
    axes = Axes.between(np.array([10.0, 10.0]), np.array([10.0, 30.0]))
    along, down = axes.to_local(np.array([[10.0, 10.0], [10.0, 30.0], [4.0, 20.0]]))
    np.testing.assert_allclose(along, [-10.0, 10.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(down, [0.0, 0.0, 6.0], atol=1e-12)


def test_an_arc_finds_the_curve_its_points_were_taken_from() -> None:
    axes = Axes(origin=np.zeros(2), along=np.array([1.0, 0.0]), half=5.0)
    place = np.linspace(-1.0, 1.0, 9)
    down = (1.0 - place**2) * (3.0 + 0.5 * place - 0.2 * place**2)
    fitted = Arc.fit(axes, np.stack([5.0 * place, down], 1))
    np.testing.assert_allclose(fitted.coefficients, [3.0, 0.5, -0.2], atol=1e-9)
    np.testing.assert_allclose(fitted(np.array([-9.0, -5.0, 5.0, 9.0])), 0.0, atol=1e-9)


@pytest.mark.parametrize(("low", "high"), [(0.0, 2.0), (2.0, 0.0)])
def test_smoothstep_runs_from_low_to_high(low: float, high: float) -> None:
    values = smoothstep(np.array([low, 1.0, high]), low, high)
    np.testing.assert_allclose(values, [0.0, 0.5, 1.0])
