"""The attention mesh's own operators against their geometry, point by point, and the merge of its parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facefusion.catalogue.convert import face_mesh, tflite
from facefusion.core.errors import ModelError
from tests.catalogue.by_hand import Floats, bilinear, run
from tests.catalogue.tflite_writer import Writer

REAL_POINTS = [
    [95.8416, 109.0273, -24.0765],
    [55.7471, 77.7757, 6.3824],
    [76.9314, 128.9816, 9.6333],
    [131.8694, 71.1191, -0.1254],
    [66.3348, 75.7762, 0.2982],
    [122.292, 70.6367, -4.5089],
]
REAL_PRESENCE = 0.000000
SUBSET = [0, 2, 3, 5]
TARGET_ANGLE = 0.25
OPTIONS = {
    "subset_idxs": SUBSET,
    "left_rotation_idx": 0,
    "right_rotation_idx": 3,
    "target_rotation_radians": TARGET_ANGLE,
    "output_width": 4,
    "output_height": 6,
    "scale_x": 1.5,
    "scale_y": 1.25,
}


def turn(points: Floats, angle: float) -> Floats:
    cos, sin = math.cos(angle), math.sin(angle)
    return points @ np.array([[cos, sin], [-sin, cos]], np.float32)


def window_to_picture(landmarks: Floats, x: float, y: float) -> tuple[float, float]:
    """Where the window's point (x, y) lies in the picture, worked out without a matrix."""
    points = landmarks[:, :2]
    right, down = points[3] - points[0]
    angle = TARGET_ANGLE - math.atan2(down, right)
    turned = turn(points[SUBSET], angle)
    low, high = turned.min(axis=0), turned.max(axis=0)
    width, height = (high - low) * (1.5, 1.25)
    middle = (low + high) / 2
    inside = np.array([[middle[0] + (x / 4 - 0.5) * width, middle[1] + (y / 6 - 0.5) * height]])
    found = turn(inside, -angle)[0]
    return float(found[0]), float(found[1])


def matrix_file() -> bytes:
    writer = Writer()
    source = writer.tensor("in", (1, 6, 3))
    target = writer.operator("Landmarks2TransformMatrix", [source], writer.tensor("out", (1, 4, 4)), **OPTIONS)
    return writer.finish([source], [target])


MATRIX = tflite.convert(matrix_file()).SerializeToString()


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.floats(0, 4), st.floats(0, 6))
def test_the_matrix_takes_the_window_to_the_turned_box_of_the_subset(seed, x, y):
    landmarks = np.random.default_rng(seed).uniform(0, 192, (6, 3)).astype(np.float32)

    matrix = run(MATRIX, {"in": landmarks[np.newaxis]})["out"][0]

    assert (matrix @ np.array([x, y, 0, 1]))[:2] == pytest.approx(window_to_picture(landmarks, x, y), abs=5e-3)
    np.testing.assert_array_equal(matrix[2:], [[0, 0, 1, 0], [0, 0, 0, 1]])


def test_a_window_is_sampled_at_pixel_centres_and_is_zero_outside():
    random = np.random.default_rng(3)
    features = random.normal(size=(1, 5, 7, 2)).astype(np.float32)
    matrix = np.eye(4, dtype=np.float32)
    matrix[:2, [0, 1, 3]] = [[1.3, -0.4, -0.6], [0.5, 1.1, 0.2]]
    writer = Writer()
    source, given = writer.tensor("in", features.shape), writer.tensor("matrix", (1, 4, 4))
    target = writer.operator(
        "TransformTensorBilinear",
        [source, given],
        writer.tensor("out", (1, 4, 6, 2)),
        output_width=6,
        output_height=4,
    )
    model = tflite.convert(writer.finish([source, given], [target]))

    result = run(model, {"in": features, "matrix": matrix[np.newaxis]})["out"]

    outside = 0
    for y in range(4):
        for x in range(6):
            column, row, *_ = matrix @ [x + 0.5, y + 0.5, 0, 1] - 0.5
            expected = [bilinear(features[0, :, :, c], column, row) for c in range(2)]
            np.testing.assert_allclose(result[0, y, x], expected, atol=1e-5)
            outside += expected == [0, 0]
    assert outside > 0


def test_landmarks_go_back_through_the_matrix():
    points = np.array([[[1, 2], [3, -4], [0, 0]]], np.float32)
    matrix = np.arange(16, dtype=np.float32).reshape(1, 4, 4)
    writer = Writer()
    source, given = writer.tensor("in", points.shape), writer.tensor("matrix", (1, 4, 4))
    target = writer.operator("TransformLandmarks", [source, given], writer.tensor("out", points.shape))
    model = tflite.convert(writer.finish([source, given], [target]))

    result = run(model, {"in": points, "matrix": matrix})["out"]

    # x' = 0x + 1y + 3, y' = 4x + 5y + 7
    np.testing.assert_array_equal(result, [[[5, 21], [-1, -1], [3, 7]]])


def parts_file(random: np.random.Generator) -> tuple[bytes, dict[str, Floats], list[list[int]]]:
    """A file with the attention mesh's outputs, which gives constants; the input only moves the presence."""
    subsets = [list(range(80)), list(range(100, 171)), list(range(250, 321))]
    values = {
        "output_mesh_identity": random.normal(size=(1, 1, 1, 1404)),
        "output_lips": random.normal(size=(1, 1, 1, 160)),
        "output_left_eye": random.normal(size=(1, 1, 1, 142)),
        "output_right_eye": random.normal(size=(1, 1, 1, 142)),
        "output_left_iris": random.normal(size=(1, 1, 1, 10)),
        "output_right_iris": random.normal(size=(1, 1, 1, 10)),
    }
    writer = Writer()
    source = writer.tensor("picture", (1, 192, 192, 3))
    outputs = []
    zero = writer.operator(
        "MAX_POOL_2D",
        [source],
        writer.tensor("one", (1, 1, 1, 3)),
        Padding=1,
        StrideH=192,
        StrideW=192,
        FilterHeight=192,
        FilterWidth=192,
    )
    bounds = [writer.constant(np.array(value, np.int32)) for value in ([0] * 4, [1] * 4, [1] * 4)]
    flag = writer.operator("STRIDED_SLICE", [zero, *bounds], writer.tensor("conv_faceflag", (1, 1, 1, 1)))
    none = writer.operator(
        "MUL", [flag, writer.constant(np.zeros((1, 1, 1, 1), np.float32))], writer.tensor("none", (1, 1, 1, 1))
    )
    for name, value in values.items():
        constant = writer.constant(value.astype(np.float32))
        outputs.append(writer.operator("ADD", [constant, none], writer.tensor(name, value.shape)))
    cloud = writer.operator("RESHAPE", [outputs[0]], writer.tensor("cloud", (1, 468, 3)))
    for number, subset in enumerate(subsets):
        options = {**OPTIONS, "subset_idxs": subset}
        writer.operator("Landmarks2TransformMatrix", [cloud], writer.tensor(f"matrix{number}", (1, 4, 4)), **options)
    floats = {name: value.astype(np.float32).ravel() for name, value in values.items()}
    return writer.finish([source], [*outputs, flag]), floats, subsets


def test_refined_parts_are_written_over_the_mesh_and_irises_appended():
    data, values, (lips, left_eye, right_eye) = parts_file(np.random.default_rng(11))

    result = run(face_mesh.convert(data), {"input": np.full((1, 192, 192, 3), 2.0, np.float32)})

    expected = np.zeros((478, 3), np.float32)
    base = values["output_mesh_identity"].reshape(468, 3)
    expected[:468] = base
    expected[lips, :2] = values["output_lips"].reshape(80, 2)
    expected[left_eye, :2] = values["output_left_eye"].reshape(71, 2)
    expected[right_eye, :2] = values["output_right_eye"].reshape(71, 2)
    expected[468:473, :2] = values["output_left_iris"].reshape(5, 2)
    expected[473:478, :2] = values["output_right_iris"].reshape(5, 2)
    expected[468:473, 2] = base[left_eye, 2].mean()
    expected[473:478, 2] = base[right_eye, 2].mean()
    assert result["landmarks"].shape == (1, 478, 3)
    np.testing.assert_allclose(result["landmarks"][0], expected, atol=1e-6)
    np.testing.assert_allclose(result["presence"], [[1 / (1 + math.exp(-2))]], rtol=1e-6)


def test_another_tflite_model_is_no_face_mesh():
    with pytest.raises(ModelError, match="not the face mesh with attention"):
        face_mesh.convert(matrix_file())


def test_the_real_mesh_knows_where_it_put_the_points(model_path: Callable[[str], Path]):
    """Numbers of an earlier, separately written conversion of the same file, on a drawn pattern."""
    rows, columns = np.mgrid[0:192, 0:192].astype(np.float32) / 191
    picture = np.stack([columns, rows, (columns + rows) / 2], axis=-1)[np.newaxis]

    result = run(model_path("face_mesh").read_bytes(), {"input": picture})

    points = result["landmarks"][0]
    assert result["presence"].shape == (1, 1)
    np.testing.assert_allclose(points[[1, 33, 61, 263, 468, 473]], REAL_POINTS, atol=2e-3)
    assert result["presence"][0, 0] == pytest.approx(REAL_PRESENCE, abs=1e-4)
