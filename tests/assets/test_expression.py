from __future__ import annotations

import numpy as np
import pytest

from scripts.assets.expression import Eye, Mouth, invert_monotone, mouth_colours
from scripts.assets.frames import Arc, Axes

HALF = 20.0
AXES = Axes(origin=np.array([100.0, 50.0]), along=np.array([1.0, 0.0]), half=HALF)


def arc(height: float) -> Arc:
    return Arc(half=HALF, coefficients=np.array([height]))


EYE = Eye(axes=AXES, upper=arc(-6.0), lower=arc(4.0), lid=12.0)
MOUTH = Mouth(axes=AXES, upper=arc(0.0), lower=arc(2.0), chin=40.0, parted=False)


def column(*, x: float = 100.0, top: float = 20.0, bottom: float = 140.0, count: int = 2401) -> np.ndarray:
    y = np.linspace(top, bottom, count)
    return np.stack([np.full_like(y, x), y], 1)


def test_an_open_eye_is_left_as_it_is() -> None:
    points = column()
    blink = EYE.blink(points, 0.0)
    np.testing.assert_allclose(blink.source, points, atol=1e-3)
    assert blink.lashes.max() == 0.0


def test_a_shut_lid_shows_skin_down_to_the_lower_lid() -> None:
    points = column(top=30.0, bottom=60.0)
    source = EYE.blink(points, 1.0).source
    upper, lower = 50.0 - 6.0, 50.0 + 4.0
    assert source[points[:, 1] < lower, 1].max() < upper
    below = points[:, 1] > lower + 1.0
    np.testing.assert_allclose(source[below], points[below])


def test_half_a_blink_shows_the_lower_half_of_the_eye() -> None:
    points = column(top=30.0, bottom=60.0)
    source = EYE.blink(points, 0.5).source
    edge = 50.0 - 6.0 + 0.5 * 1.08 * 10.0
    seen = points[:, 1] > edge + 0.05
    np.testing.assert_allclose(source[seen], points[seen])
    assert source[points[:, 1] < edge - 0.05, 1].max() < 50.0 - 6.0


def test_a_blink_keeps_the_order_of_the_skin_and_joins_the_brow() -> None:
    points = column(top=20.0, bottom=53.5)
    source = EYE.blink(points, 1.0).source[:, 1]
    assert (np.diff(source) >= -1e-4).all()
    crease = 50.0 - 6.0 - 12.0
    np.testing.assert_allclose(source[points[:, 1] < crease], points[points[:, 1] < crease, 1])
    assert abs(np.diff(source)).max() < 0.05


def test_lashes_lie_along_the_edge_of_the_lid_and_end_at_the_corners() -> None:
    blink = EYE.blink(column(), 1.0)
    dark = column()[blink.lashes > 0.5, 1]
    edge = 50.0 - 6.0 + 1.08 * 10.0
    assert edge - 4.0 < dark.min() < dark.max() < edge + 2.0
    assert EYE.blink(column(x=100.0 + HALF), 1.0).lashes.max() == pytest.approx(0.0, abs=1e-9)


def test_a_closed_mouth_is_left_as_it_is() -> None:
    points = column()
    speech = MOUTH.speak(points, 0.0)
    np.testing.assert_allclose(speech.source, points, atol=1e-3)
    assert speech.cavity.max() == 0.0


def test_the_gap_is_as_wide_as_the_jaw_drops() -> None:
    drop = 8.0
    points = column()
    speech = MOUTH.speak(points, drop)
    open_rows = points[speech.cavity > 0.5, 1]
    slit = 50.0 + 2.0
    assert open_rows.min() == pytest.approx(slit, abs=0.1)
    assert open_rows.max() == pytest.approx(slit + drop, abs=0.1)


def test_the_jaw_falls_by_the_drop_and_the_upper_lip_stays() -> None:
    drop = 8.0
    points = column()
    source = MOUTH.speak(points, drop).source[:, 1]
    above = points[:, 1] < 52.0
    np.testing.assert_allclose(source[above], points[above, 1], atol=1e-6)
    chin = int(np.argmin(np.abs(points[:, 1] - (50.0 + 40.0 + drop))))
    assert source[chin] == pytest.approx(50.0 + 40.0, abs=0.2)
    throat = points[:, 1] > 50.0 + 2.2 * 40.0
    np.testing.assert_allclose(source[throat], points[throat, 1], atol=1e-2)


def test_skin_below_the_mouth_keeps_its_order() -> None:
    points = column()
    source = MOUTH.speak(points, 8.0).source[:, 1]
    below = points[:, 1] > 60.1
    assert (np.diff(source[below]) > -1e-3).all()


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_the_mouth_stays_shut_at_its_corners(side: float) -> None:
    speech = MOUTH.speak(column(x=100.0 + side * HALF), 8.0)
    assert speech.cavity.max() == pytest.approx(0.0, abs=1e-6)


def test_rounding_draws_the_corners_in() -> None:
    corner = AXES.to_points(np.array([HALF * 0.9]), np.array([0.0]))
    source = MOUTH.speak(corner, 0.0, rounding=0.2).source
    assert source[0, 0] > corner[0, 0]


def test_the_mouths_inside_is_dark_behind_and_shows_teeth_where_asked() -> None:
    along = np.zeros(3)
    depth = np.array([0.1, 0.35, 0.95])
    plain = mouth_colours(depth, along, upper_teeth=False)
    toothed = mouth_colours(depth, along, upper_teeth=True)
    assert plain[0].max() < 40.0
    assert toothed[0].min() > 110.0
    np.testing.assert_allclose(toothed[1:], plain[1:], atol=1e-9)
    assert plain[2, 2] > plain[2, 0] + 20.0, "the tongue is red"


def test_a_monotone_function_is_inverted() -> None:
    wanted = np.linspace(0.0, 1.0, 11)
    found = invert_monotone(lambda x: x**3, wanted, np.zeros(11), np.ones(11))
    np.testing.assert_allclose(found**3, wanted, atol=2e-5)
