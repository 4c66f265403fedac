from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.assets.head import STEEPEST, Head, Pose, determinant, invert, level, rotation

angle = st.floats(-60.0, 60.0)


@pytest.fixture(scope="module")
def ball() -> Head:
    """Half a ball of radius 60 in the middle of a field of 200 x 200."""
    x, y = np.meshgrid(np.arange(200.0) - 100.0, np.arange(200.0) - 100.0)
    radial = np.hypot(x, y)
    depth = level(np.sqrt(np.maximum(60.0**2 - radial**2, 0.0)), STEEPEST)
    whole = np.clip((95.0 - radial) / 30.0, 0.0, 1.0).astype(np.float32)
    smooth = cv2.GaussianBlur(depth, (0, 0), 2.0).astype(np.float32)
    return Head((0, 0), (100.0, 100.0), 60.0, smooth, whole, whole, whole)


@given(angle, angle, angle)
def test_a_rotation_keeps_lengths_and_handedness(yaw: float, pitch: float, roll: float) -> None:
    matrix = rotation(Pose(yaw, pitch, roll))
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(matrix) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("pose", "nose"),
    [(Pose(yaw=30.0), (0.5, 0.0)), (Pose(pitch=30.0), (0.0, 0.5)), (Pose(roll=30.0), (0.0, 0.0))],
)
def test_the_nose_goes_where_the_pose_says(pose: Pose, nose: tuple[float, float]) -> None:
    np.testing.assert_allclose((rotation(pose) @ [0.0, 0.0, 1.0])[:2], nose, atol=1e-12)


def test_roll_is_clockwise_in_the_image() -> None:
    np.testing.assert_allclose(rotation(Pose(roll=90.0)) @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-12)


def test_a_head_at_rest_stays_where_it_is(ball: Head) -> None:
    np.testing.assert_allclose(ball.displacement(Pose()), 0.0, atol=1e-5)


def test_turning_moves_the_front_sideways_and_the_background_not_at_all(ball: Head) -> None:
    moved = ball.displacement(Pose(yaw=20.0))
    assert moved[100, 100, 0] == pytest.approx(np.sin(np.radians(20.0)) * 58.0, rel=0.06)
    assert abs(moved[100, 100, 1]) < 0.5
    np.testing.assert_array_equal(moved[:4], 0.0)


@pytest.mark.parametrize("pose", [Pose(yaw=25.0), Pose(yaw=-25.0, pitch=8.0, roll=5.0), Pose(pitch=-12.0)])
def test_turning_never_folds_the_picture(ball: Head, pose: Pose) -> None:
    assert determinant(ball.displacement(pose)).min() > 0.05


@pytest.mark.parametrize("pose", [Pose(yaw=22.0, roll=4.0), Pose(pitch=10.0, shift=(2.0, -1.0))])
def test_the_inverse_leads_back(ball: Head, pose: Pose) -> None:
    moved = ball.displacement(pose)
    origins = invert(moved)
    there = cv2.remap(moved, origins[..., 0], origins[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    column, row = np.meshgrid(np.arange(200.0), np.arange(200.0))
    miss = np.hypot(origins[..., 0] + there[..., 0] - column, origins[..., 1] + there[..., 1] - row)
    assert np.quantile(miss, 0.999) < 0.05
    assert miss.max() < 0.5


def test_levelling_lowers_only_what_is_too_steep() -> None:
    surface = np.zeros((9, 9))
    surface[4, 4] = 10.0
    surface[0, 0] = 1.0
    levelled = level(surface, 2.0)
    assert levelled[4, 4] == 2.0
    assert levelled[0, 0] == 1.0
    slopes = [np.abs(np.diff(levelled, axis=axis)).max() for axis in (0, 1)]
    assert max(slopes) <= 2.0
