from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facefusion.core.values import Size
from facefusion.vision.raster import rasterise

coordinate = st.integers(-64, 224).map(lambda eighths: eighths / 8)


def covering_triangle(points, triangles, x, y):
    """The last triangle with the pixel strictly inside, and whether any edge comes near: independent of spans."""
    seen, doubtful = -1, False
    for number, corners in enumerate(triangles):
        a, b, c = (points[corner].astype(np.float64) for corner in corners)
        sides = [
            (end[0] - start[0]) * (y - start[1]) - (end[1] - start[1]) * (x - start[0])
            for start, end in ((a, b), (b, c), (c, a))
        ]
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if abs(area) < 1e-3:
            doubtful = True
            continue
        if area < 0:
            sides = [-side for side in sides]
        longest = max(np.hypot(*(b - a)), np.hypot(*(c - b)), np.hypot(*(a - c)))
        if min(sides) > 1e-3 * longest:
            seen = number
        elif min(sides) > -1e-3 * longest:
            doubtful = True
    return seen, doubtful


@settings(max_examples=40)
@given(st.lists(st.tuples(coordinate, coordinate), min_size=6, max_size=6))
def test_agrees_with_a_test_of_every_pixel(corners):
    points = np.array(corners, np.float32)
    triangles = np.array(((0, 1, 2), (3, 4, 5), (1, 4, 2)), np.int32)
    raster = rasterise(points, triangles, Size(20, 16))
    seen = np.full(20 * 16, -1)
    seen[raster.covered] = raster.seen
    for y in range(16):
        for x in range(20):
            expected, doubtful = covering_triangle(points, triangles, x, y)
            assert doubtful or seen[y * 20 + x] == expected


def test_triangles_that_share_edges_leave_no_gap_and_do_not_overlap():
    rng = np.random.default_rng(3)
    across, down = np.meshgrid(np.linspace(-2, 34, 9), np.linspace(-2, 34, 9))
    points = np.stack((across, down), axis=-1).reshape(-1, 2).astype(np.float32)
    points[np.all((points > 0) & (points < 32), axis=1)] += rng.uniform(-1.5, 1.5, (49, 2)).astype(np.float32)
    corners = [(r * 9 + c, r * 9 + c + 1, r * 9 + c + 10) for r in range(8) for c in range(8)]
    corners += [(r * 9 + c, r * 9 + c + 10, r * 9 + c + 9) for r in range(8) for c in range(8)]
    times = np.zeros(32 * 32, int)
    for corner in corners:
        times[rasterise(points, np.array([corner], np.int32), Size(32, 32)).covered] += 1
    assert times.tolist() == [1] * 32 * 32


def test_later_triangles_hide_earlier_ones():
    points = np.array(((0, 0), (20, 0), (0, 20)), np.float32)
    raster = rasterise(points, np.array([[0, 1, 2]] * 5, np.int32), Size(20, 20))
    assert set(raster.seen.tolist()) == {4}


def test_interpolation_is_exact_on_a_plane():
    rng = np.random.default_rng(1)
    points = rng.uniform(-20, 320, (60, 2)).astype(np.float32)
    triangles = rng.integers(0, 60, (80, 3)).astype(np.int32)
    raster = rasterise(points, triangles, Size(300, 200))
    plane = raster.interpolate(0.25 * points[:, 0] - 0.5 * points[:, 1] + 7, outside=-1000)
    y, x = np.nonzero(raster.inside())
    assert len(x) > 20000
    assert plane[y, x] == pytest.approx(0.25 * x - 0.5 * y + 7, abs=2e-3)
    assert set(plane[raster.inside() == 0].tolist()) <= {-1000.0}


def test_triangles_without_area_or_outside_cover_nothing():
    points = np.array(((1, 1), (5, 5), (9, 9), (40, 40), (60, 40), (50, 60)), np.float32)
    raster = rasterise(points, np.array(((0, 1, 2), (0, 0, 1), (3, 4, 5)), np.int32), Size(20, 20))
    assert len(raster.covered) == 0
    assert not raster.interpolate(np.ones(6, np.float32)).any()
