"""MediaPipe's custom operators of the attention mesh, in standard ONNX operators.

The attention mesh finds all landmarks roughly, cuts lips and eyes out of its feature map by a rotated window around
each, and refines them there. Its three operators are the window's matrix, the sampling through it, and the way back.
The parameters are stored with the operators; the rules were worked out from MediaPipe's published kernels (Apache-2.0)
and checked against its Python solution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from facefusion.catalogue.convert.builder import GraphBuilder
from facefusion.catalogue.convert.unsupported import REPORT
from facefusion.core.errors import ModelError


@dataclass(frozen=True, slots=True)
class MatrixOptions:
    """What ``Landmarks2TransformMatrix`` keeps in the file."""

    subset: tuple[int, ...]
    """Landmarks that the window must hold, by number."""
    left: int
    right: int
    """Landmarks whose connection is turned to ``target_angle``."""
    target_angle: float
    """Radians."""
    width: int
    height: int
    """Size of the window in output pixels."""
    scale: tuple[float, float]
    """How much larger than the subset's bounding box the window is, in x and y."""

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> MatrixOptions:
        """Take them from the operator's stored options; one that is missing is a :class:`ModelError`."""
        try:
            return cls(
                subset=tuple(int(i) for i in options["subset_idxs"]),
                left=int(options["left_rotation_idx"]),
                right=int(options["right_rotation_idx"]),
                target_angle=float(options["target_rotation_radians"]),
                width=int(options["output_width"]),
                height=int(options["output_height"]),
                scale=(float(options["scale_x"]), float(options["scale_y"])),
            )
        except KeyError as error:
            raise ModelError(
                f"Landmarks2TransformMatrix of the TFLite model lacks the option {error}", REPORT
            ) from error


def landmarks_to_matrix(graph: GraphBuilder, landmarks: str, count: int, options: MatrixOptions) -> str:
    """The 1x4x4 affine map from a point of the output window to a point of the input.

    With R the rotation by ``target_angle`` minus the angle of the connection left to right, s and m the size and
    middle of the subset's bounding box after R, and w the window's size, it is
    ``translate(R^-1 m) R^-1 scale(scale * s / w) translate(-w / 2)``.
    """
    points = graph.columns(graph.reshape(landmarks, (count, 3)), 0, 2)
    back = _rotation_back(graph, points, options)
    forth = graph.add("Transpose", back, perm=(1, 0))
    turned = graph.add("MatMul", graph.add("Gather", points, graph.constant(options.subset, np.int64), axis=0), back)
    highest = graph.add("ReduceMax", turned, axes=(0,), keepdims=1)
    lowest = graph.add("ReduceMin", turned, axes=(0,), keepdims=1)
    per_pixel = np.divide(options.scale, (options.width, options.height))
    scale = graph.add("Mul", graph.add("Sub", highest, lowest), graph.constant(per_pixel))
    middle = graph.add("Mul", graph.add("Add", highest, lowest), graph.constant(0.5))
    # Row vectors: x R^T turns by R, so the way back multiplies by R.
    linear = graph.add("Mul", back, scale)
    corner = graph.constant([[-options.width / 2], [-options.height / 2]])
    centre = graph.add("Transpose", graph.add("MatMul", middle, forth), perm=(1, 0))
    offset = graph.add("Add", centre, graph.add("MatMul", linear, corner))
    upper = graph.add("Concat", linear, graph.constant(np.zeros((2, 1))), offset, axis=1)
    lower = graph.constant([[0, 0, 1, 0], [0, 0, 0, 1]])
    return graph.reshape(graph.add("Concat", upper, lower, axis=0), (1, 4, 4))


def _rotation_back(graph: GraphBuilder, points: str, options: MatrixOptions) -> str:
    """R^-1 as a 2x2 matrix, from the unit vector of the connection: no angle is needed."""
    ends = (graph.add("Gather", points, graph.constant([i], np.int64), axis=0) for i in (options.right, options.left))
    connection = graph.add("Sub", *ends)
    unit = graph.add("Div", connection, graph.add("ReduceL2", connection, axes=(1,), keepdims=1))
    cos, sin = float(np.cos(options.target_angle)), float(np.sin(options.target_angle))
    # unit = (cos a, sin a); the matrix holds cos(t - a), sin(t - a), -sin(t - a), cos(t - a) row by row.
    mix = [[cos, sin, -sin, cos], [sin, -cos, cos, sin]]
    return graph.reshape(graph.add("MatMul", unit, graph.constant(mix)), (2, 2))


def transform_tensor(
    graph: GraphBuilder, features: str, matrix: str, size: tuple[int, int], window: tuple[int, int]
) -> str:
    """Sample a window out of channels-first features; sizes are height and width.

    The window's pixel centre (x + 0.5, y + 0.5) through the matrix is a place in the features, whose pixel centres lie
    at halves as well; between them bilinear, outside zero.
    """
    rows, columns = np.mgrid[0 : window[0], 0 : window[1]]
    centres = np.stack([columns.ravel() + 0.5, rows.ravel() + 0.5, np.zeros(rows.size), np.ones(rows.size)], axis=1)
    placed = _mapped(graph, graph.constant(centres), matrix)
    # GridSample wants -1 at the outer edge of the first pixel and +1 at that of the last.
    grid = graph.add("Sub", graph.add("Mul", placed, graph.constant([2 / size[1], 2 / size[0]])), graph.constant(1.0))
    return graph.add(
        "GridSample",
        features,
        graph.reshape(grid, (1, *window, 2)),
        mode="bilinear",
        padding_mode="zeros",
        align_corners=0,
    )


def transform_landmarks(graph: GraphBuilder, points: str, matrix: str, shape: tuple[int, ...]) -> str:
    """Take points of shape (1, n, 2) through the matrix."""
    count, axes = shape[-2:]
    if axes != 2:
        raise ModelError(
            f"TransformLandmarks of the TFLite model has points with {axes} coordinates; 2 are supported", REPORT
        )
    depth = graph.constant(np.tile([0.0, 1.0], (count, 1)))
    full = graph.add("Concat", graph.reshape(points, (count, 2)), depth, axis=1)
    return graph.reshape(_mapped(graph, full, matrix), shape)


def _mapped(graph: GraphBuilder, points: str, matrix: str) -> str:
    """Points (n, 4) through ``matrix`` (1, 4, 4); of the result x and y."""
    transposed = graph.add("Transpose", graph.reshape(matrix, (4, 4)), perm=(1, 0))
    return graph.columns(graph.add("MatMul", points, transposed), 0, 2)
