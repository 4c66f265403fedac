"""The renderer on a made-up face: the canonical mesh over a random picture."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from facefusion.faces.surface.topology import texture_coordinates
from scripts.assets.head import Pose
from scripts.assets.motion import Moment
from scripts.assets.portrait import SCALE, Image, Staging, enlarge, extend
from scripts.assets.production import BENCHMARK, resized
from scripts.assets.render import Scene

STAGING = Staging(view=(10.0, 6.0, 126.0), head=(120.0, 66.0, 44.0, 52.0), neck=(100.0, 125.0))
REST = Moment(pose=Pose(), blink=0.0, jaw=0.0, rounding=0.0, zoom=1.0, camera=(0.0, 0.0, 0.0), light=(0.0, 1.0))
HEIGHT = 252
GRAIN = 12
"""No pixel's grain is stronger, in levels."""


@pytest.fixture(scope="module")
def scene() -> Scene:
    left, top, right, bottom = STAGING.canvas
    rough = np.random.default_rng(5).integers(60, 200, ((bottom - top) // 6 + 1, (right - left) // 6 + 1, 3), np.uint8)
    canvas = np.kron(rough, np.ones((6 * SCALE, 6 * SCALE, 1), np.uint8))[
        : (bottom - top) * SCALE, : (right - left) * SCALE
    ]
    uv = texture_coordinates()
    mesh = np.zeros((478, 3))
    mesh[:468, 0] = 120.0 + 64.0 * (uv[:, 0] - 0.5)
    mesh[:468, 1] = 66.0 + 72.0 * (uv[:, 1] - 0.5)
    mesh[:468, 2] = -30.0 * np.sqrt(np.maximum(1.0 - ((uv - 0.5) ** 2).sum(1) / 0.5, 0.0))
    return Scene.of(STAGING, np.ascontiguousarray(canvas), mesh)


def changed(scene: Scene, now: Moment) -> np.ndarray:
    """How far each pixel is from the scene at rest, in levels."""
    rest = scene.render(REST, HEIGHT, 0).astype(np.int16)
    return np.abs(scene.render(now, HEIGHT, 0).astype(np.int16) - rest).max(-1)


def portrait_place(row: float, column: float) -> tuple[float, float]:
    """Portrait x and y of a pixel of the picture at rest."""
    scale = HEIGHT / STAGING.view[2]
    return STAGING.view[0] + column / scale, STAGING.view[1] + row / scale


def test_at_rest_the_portrait_is_seen_through_grain(scene: Scene) -> None:
    picture = scene.render(REST, HEIGHT, 0)
    assert picture.shape == (HEIGHT, HEIGHT * 16 // 9, 3)
    for row, column in ((30, 40), (120, 220), (200, 400)):
        x, y = portrait_place(row + 0.5, column + 0.5)
        left, top, _, _ = STAGING.canvas
        canvas_row, canvas_column = int((y - top) * SCALE), int((x - left) * SCALE)
        near = scene.canvas[canvas_row - 3 : canvas_row + 4, canvas_column - 3 : canvas_column + 4].astype(np.int16)
        assert (picture[row, column] >= near.min((0, 1)) - GRAIN).all()
        assert (picture[row, column] <= near.max((0, 1)) + GRAIN).all()


def test_the_same_moment_gives_the_same_picture_and_each_frame_its_own_grain(scene: Scene) -> None:
    first = scene.render(REST, HEIGHT, 0)
    np.testing.assert_array_equal(first, scene.render(REST, HEIGHT, 0))
    grain = first.astype(np.int16) - scene.render(REST, HEIGHT, 1)
    assert 0.5 < grain.std() < 4.0


def test_a_blink_changes_the_eyes_only(scene: Scene) -> None:
    rows, columns = np.nonzero(changed(scene, dataclasses.replace(REST, blink=1.0)))
    reach = max(eye.axes.half + eye.lid for eye in scene.eyes) + 1.0
    assert len(rows) > 100
    x, y = portrait_place(rows + 0.5, columns + 0.5)  # type: ignore[arg-type]
    distances = [np.maximum(np.abs(x - eye.axes.origin[0]), np.abs(y - eye.axes.origin[1])) for eye in scene.eyes]
    assert np.minimum(*distances).max() < reach


def test_speaking_darkens_the_mouth_and_leaves_the_eyes(scene: Scene) -> None:
    now = dataclasses.replace(REST, jaw=1.0)
    difference = changed(scene, now)
    scale = HEIGHT / STAGING.view[2]
    mouth = scene.mouth
    x, y = mouth.axes.origin
    gap = float(mouth.lower(np.zeros(1))[0]) + 0.1 * mouth.axes.half
    row, column = round((y + gap - STAGING.view[1]) * scale), round((x - STAGING.view[0]) * scale)
    assert scene.canvas.min() >= 60
    assert scene.render(now, HEIGHT, 0)[row, column - 1 : column + 2].max() < 60
    for eye in scene.eyes:
        row = round((eye.axes.origin[1] - STAGING.view[1]) * scale)
        column = round((eye.axes.origin[0] - STAGING.view[0]) * scale)
        assert difference[row - 3 : row + 4, column - 3 : column + 4].max() == 0


def test_a_turn_changes_the_head_and_not_the_background(scene: Scene) -> None:
    difference = changed(scene, dataclasses.replace(REST, pose=Pose(yaw=20.0, pitch=5.0)))
    scale = HEIGHT / STAGING.view[2]
    middle = round((120.0 - STAGING.view[0]) * scale)
    assert difference[80:160, middle - 30 : middle + 30].mean() > 10.0
    assert difference[:, : round((120.0 - 1.9 * 44.0 - STAGING.view[0]) * scale)].max() <= 1


def test_light_from_one_side_brightens_it(scene: Scene) -> None:
    rest = scene.render(REST, HEIGHT, 0).astype(np.float64)
    lit = scene.render(dataclasses.replace(REST, light=(35.0, 1.0)), HEIGHT, 0).astype(np.float64)
    scale = HEIGHT / STAGING.view[2]
    middle, reach = round((120.0 - STAGING.view[0]) * scale), round(20.0 * scale)
    ratio = lit[90:150].mean((0, 2)) / rest[90:150].mean((0, 2))
    assert ratio[middle : middle + reach].mean() > ratio[middle - reach : middle].mean() + 0.03


def test_a_gain_scales_the_whole_picture(scene: Scene) -> None:
    rest = scene.render(REST, HEIGHT, 0).astype(np.float64)
    dim = scene.render(dataclasses.replace(REST, light=(0.0, 0.5)), HEIGHT, 0).astype(np.float64)
    assert dim.mean() == pytest.approx(0.5 * rest.mean(), rel=0.01)


def test_what_lies_beyond_the_portrait_continues_it() -> None:
    large: Image = np.full((130 * SCALE, 200 * SCALE, 3), 120, np.uint8)
    large[:, : 20 * SCALE] = 40
    staging = Staging(view=(-10.0, 10.0, 110.0), head=(0.0, 0.0, 1.0, 1.0), neck=(1.0, 2.0))
    left, top, right, bottom = staging.canvas
    canvas = extend(large, staging)
    assert canvas.shape == ((bottom - top) * SCALE, (right - left) * SCALE, 3)
    inside = canvas[:, -left * SCALE : (200 - left) * SCALE]
    np.testing.assert_array_equal(inside, large[top * SCALE : bottom * SCALE, : inside.shape[1]])
    assert canvas[100, 0].max() <= 60


def test_enlarging_mixes_the_network_with_plain_interpolation() -> None:
    picture: Image = np.full((6, 5, 3), 100, np.uint8)
    large = enlarge(picture, lambda small: np.full((small.shape[0] * 4, small.shape[1] * 4, 3), 200.0, np.float32))
    assert large.shape == (24, 20, 3)
    np.testing.assert_array_equal(large, 175)


def test_resizing_averages_over_the_area() -> None:
    picture: Image = np.zeros((2160, 3840, 3), np.uint8)
    picture[::2] = 200
    for shape in BENCHMARK[-2::-2]:
        small = resized(picture, shape)
        assert small.shape == (shape.height, shape.width, 3)
        assert abs(float(small.mean()) - 100.0) < 2.0
