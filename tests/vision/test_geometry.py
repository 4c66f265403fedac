"""Maps go where they should and come back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from facefusion.vision.geometry import (
    FACE_TEMPLATES,
    SquareRegion,
    angle_between,
    compose,
    fit_similarity,
    fit_template,
    invert,
    lie_apart,
    scale_of,
    square_around,
    transform_mesh,
    transform_points,
)

ANGLES = st.floats(-math.pi, math.pi)
SCALES = st.floats(0.05, 20.0)
SHIFTS = st.tuples(st.floats(-500, 500), st.floats(-500, 500))
ANY = st.one_of(st.sampled_from([math.nan, math.inf, 0.0, 1e-45, 1.0, 3.4e38]), st.floats(width=32))
"""Whatever single precision holds."""
SEEDS = st.integers(0, 2**32 - 1)


def similarity(angle, scale, shift):
    cosine, sine = scale * math.cos(angle), scale * math.sin(angle)
    return np.array([[cosine, -sine, shift[0]], [sine, cosine, shift[1]]])


def cloud(seed, dimensions=2, count=12):
    return np.random.default_rng(seed).normal(0, 40, (count, dimensions))


@given(ANGLES, SCALES, SHIFTS, SEEDS)
def test_fit_finds_the_similarity_that_was_applied(angle, scale, shift, seed):
    true = similarity(angle, scale, shift)
    points = cloud(seed)
    assert np.allclose(fit_similarity(points, transform_points(true, points)), true, atol=1e-6)


@given(SEEDS, SCALES)
def test_fit_in_space_finds_rotation_scale_and_shift(seed, scale):
    generator = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(generator.normal(size=(3, 3)))
    rotation *= np.sign(np.linalg.det(rotation))
    points = cloud(seed, 3)
    moved = points @ (scale * rotation).T + (5, -7, 11)
    fitted = fit_similarity(points, moved)
    assert np.allclose(fitted[:, :3], scale * rotation, atol=1e-6 * max(1, scale))
    assert np.allclose(fitted[:, 3], (5, -7, 11), atol=1e-6)


def test_fit_never_mirrors():
    points = cloud(3)
    mirrored = points * (-1, 1)
    assert np.linalg.det(fit_similarity(points, mirrored)[:, :2]) > 0


def test_fit_is_the_best_in_the_least_squares():
    points = cloud(5)
    target = transform_points(similarity(0.4, 1.3, (3, 4)), points) + np.random.default_rng(1).normal(0, 3, (12, 2))
    fitted = fit_similarity(points, target)
    error = np.square(transform_points(fitted, points) - target).sum()
    for angle, scale, x, y in ((0.01, 1, 0, 0), (0, 1.01, 0, 0), (0, 1, 0.2, 0), (0, 1, 0, -0.2), (-0.01, 0.99, 0, 0)):
        other = compose(similarity(angle, scale, (x, y)), fitted)
        assert np.square(transform_points(other, points) - target).sum() > error


def test_points_of_no_weight_do_not_pull():
    points = cloud(9)
    true = similarity(1.0, 0.5, (10, 20))
    target = transform_points(true, points)
    target[4] += 300
    weights = np.ones(12)
    weights[4] = 0
    assert np.allclose(fit_similarity(points, target, weights), true, atol=1e-9)


def test_fit_refuses_what_has_no_answer():
    with pytest.raises(ValueError, match="coincide"):
        fit_similarity(np.ones((5, 2)), cloud(1, count=5))
    with pytest.raises(ValueError, match=r"\(5, 2\) to points of shape \(4, 2\)"):
        fit_similarity(cloud(1, count=5), cloud(1, count=4))


@given(ANGLES, SCALES, SHIFTS, SEEDS)
def test_inverse_leads_back(angle, scale, shift, seed):
    there = similarity(angle, scale, shift)
    there[0, 1] += 0.3 * scale
    points = cloud(seed)
    back = transform_points(invert(there), transform_points(there, points))
    assert np.allclose(back, points, atol=1e-6)


def test_singular_map_has_no_inverse():
    with pytest.raises(ValueError, match="singular"):
        invert(np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]]))


@given(ANGLES, SCALES, SHIFTS, SEEDS)
def test_compose_applies_the_first_first(angle, scale, shift, seed):
    first, second = similarity(angle, scale, shift), similarity(-2 * angle, 1 / scale, (1, 2))
    points = cloud(seed)
    expected = transform_points(second, transform_points(first, points))
    assert np.allclose(transform_points(compose(second, first), points), expected, atol=1e-6)


def test_points_keep_their_type_and_meshes_scale_their_depth():
    mesh = np.arange(12, dtype=np.float32).reshape(4, 3)
    moved = transform_mesh(similarity(0, 2.0, (1, 1)), mesh)
    assert moved.dtype == np.float32
    assert np.array_equal(moved, mesh * 2 + np.array((1, 1, 0), np.float32))


@given(ANGLES, SCALES, SHIFTS)
def test_scale_of_a_similarity_is_its_scale(angle, scale, shift):
    assert scale_of(similarity(angle, scale, shift)) == pytest.approx(scale)


def test_region_shows_its_corners_at_the_edges_of_the_crop():
    region = SquareRegion(50.0, 40.0, 20.0, 0.0)
    to_crop = region.to_crop(10)
    # The square spans 40..60; the crop's outer edges are at -0.5 and 9.5.
    assert np.allclose(transform_points(to_crop, np.array([[40.0, 30.0], [60.0, 50.0]])), [[-0.5, -0.5], [9.5, 9.5]])
    assert np.allclose(transform_points(to_crop, np.array([[50.0, 40.0]])), [[4.5, 4.5]])


@given(ANGLES, st.integers(1, 512))
def test_turned_region_levels_its_own_axis(angle, size):
    region = SquareRegion(10.0, -5.0, 30.0, angle)
    along = np.array([[10.0, -5.0], [10.0 + math.cos(angle), -5.0 + math.sin(angle)]])
    start, end = transform_points(region.to_crop(size), along)
    assert end - start == pytest.approx((size / 30.0, 0.0), abs=1e-6)


@given(ANGLES, SEEDS)
def test_square_turns_with_its_points(angle, seed):
    points = cloud(seed)
    turned = transform_points(similarity(angle, 1.0, (7, 8)), points)
    plain, other = square_around(points, 0.0, 1.5), square_around(turned, angle, 1.5)
    assert other.side == pytest.approx(plain.side)
    middle = transform_points(similarity(angle, 1.0, (7, 8)), np.array([[plain.x, plain.y]]))[0]
    assert (other.x, other.y) == pytest.approx(tuple(middle), abs=1e-6)


def test_square_has_the_longer_side_and_needs_an_extent():
    region = square_around(np.array([[0.0, 0.0], [10.0, 4.0]]), 0.0, 1.5)
    assert region == SquareRegion(5.0, 2.0, 15.0, 0.0)
    with pytest.raises(ValueError, match="span no square"):
        square_around(np.ones((3, 2)), 0.0, 1.5)


def test_angle_grows_clockwise_on_the_screen():
    assert angle_between(np.array((0.0, 0.0)), np.array((0.0, 2.0))) == pytest.approx(math.pi / 2)


@pytest.mark.parametrize("name", sorted(FACE_TEMPLATES))
def test_face_on_a_template_stays_where_it_is(name):
    points = FACE_TEMPLATES[name] * np.float32(112)
    assert np.allclose(fit_template(points, name, 112), [[1, 0, 0], [0, 1, 0]], atol=1e-4)
    assert np.allclose(fit_template(points * 2 + 5, name, 112), [[0.5, 0, -2.5], [0, 0.5, -2.5]], atol=1e-4)


def test_templates_are_upright_faces():
    for template in FACE_TEMPLATES.values():
        left, right, nose, mouth_left, mouth_right = template
        assert left[0] < nose[0] < right[0]
        assert mouth_left[0] < mouth_right[0]
        assert left[1] < nose[1] < mouth_left[1]


@given(arrays(np.float32, (5, 2), elements=ANY), arrays(np.float32, (5, 2), elements=ANY))
def test_a_similarity_is_numbers_or_is_refused(source, target):
    try:
        with np.errstate(all="ignore"):
            found = fit_similarity(source, target)
    except ValueError as error:
        assert "coincide or are no numbers" in str(error)
        return
    assert np.isfinite(found).all()


@given(arrays(np.float64, (2, 3), elements=ANY))
def test_a_way_back_is_numbers_or_is_refused(affine):
    try:
        with np.errstate(all="ignore"):
            found = invert(affine)
    except ValueError as error:
        assert "singular" in str(error)
        return
    assert np.isfinite(found).all()


@given(arrays(np.float32, (5, 2), elements=ANY), st.floats(-4, 4))
def test_a_square_has_a_size_or_is_refused(points, angle):
    try:
        with np.errstate(all="ignore"):
            square = square_around(points, angle, 1.5)
    except ValueError as error:
        assert "span no square" in str(error)
        return
    assert np.isfinite(square).all() and square.side > 0


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 7.25, 3e38])
def test_points_on_one_spot_do_not_lie_apart(value):
    assert not lie_apart(np.full((5, 2), value, np.float32))


@given(st.floats(-9000, 9000), st.floats(-9000, 9000), st.floats(1.0, 4000))
def test_points_of_a_face_lie_apart_in_any_frame(x, y, side):
    assert lie_apart(FACE_TEMPLATES["ffhq_512"] * np.float32(side) + np.array((x, y), np.float32))
