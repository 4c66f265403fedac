"""Similarity maps, affine maps and aligned square regions.

Affine maps are 2x3 ``float64`` arrays applied to ``(x, y)`` in pixel coordinates whose whole numbers are pixel
centres. A crop of n pixels therefore spans -0.5 .. n - 0.5, and its middle is at (n - 1) / 2.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Affine, Landmarks5

Real = TypeVar("Real", np.float32, np.float64)

PLANE = 2
"""Dimensions of it."""

ROUNDING = 1e-5
"""Of a coordinate: some rounding steps of single precision, and less than a tenth of a pixel in any frame."""

Affine3D = npt.NDArray[np.float64]
"""3x4 matrix of an affine map of space."""


def fit_similarity(
    source: npt.NDArray[Real], target: npt.NDArray[Real], weights: npt.NDArray[Real] | None = None
) -> npt.NDArray[np.float64]:
    """Find the rotation, uniform scale and shift that bring ``source`` nearest to ``target`` in the least squares.

    The closed form of S. Umeyama, "Least-squares estimation of transformation parameters between two point patterns",
    IEEE PAMI 13(4), 1991: never a reflection.

    Args:
        source: n x d points, d = 2 or 3, n >= 2 (3 in space), not all on one spot.
        target: n x d points.
        weights: n weights >= 0 with a positive sum; equal where not given.

    Returns:
        d x (d + 1) matrix: an :data:`~facefusion.core.values.Affine` in the plane, an :data:`Affine3D` in space.

    Raises:
        ValueError: the shapes differ, the source points coincide, or values are no numbers.
    """
    if source.shape != target.shape or source.ndim != 2:
        raise ValueError(f"cannot fit points of shape {source.shape} to points of shape {target.shape}")
    start, goal = source.astype(np.float64), target.astype(np.float64)
    share = np.full(len(start), 1.0) if weights is None else weights.astype(np.float64)
    share = share / share.sum()
    start_mean, goal_mean = share @ start, share @ goal
    start, goal = start - start_mean, goal - goal_mean
    variance = float(share @ np.square(start).sum(axis=1))
    if not (0.0 < variance < math.inf and np.isfinite(goal).all()):
        raise ValueError("cannot fit a similarity to points that coincide or are no numbers")
    if start.shape[1] == PLANE:
        return _in_the_plane((goal * share[:, None]).T @ start / variance, start_mean, goal_mean)
    left, strengths, right = np.linalg.svd((goal * share[:, None]).T @ start)
    signs = np.ones(start.shape[1])
    signs[-1] = np.sign(np.linalg.det(left) * np.linalg.det(right))
    rotation = (left * signs) @ right
    linear = rotation * (float(strengths @ signs) / variance)
    return np.column_stack((linear, goal_mean - linear @ start_mean))


def _in_the_plane(
    covariance: npt.NDArray[np.float64], start_mean: npt.NDArray[np.float64], goal_mean: npt.NDArray[np.float64]
) -> Affine:
    """The same in two dimensions, where no decomposition is needed.

    Args:
        covariance: 2x2, of goal and start, over the variance of the start.
        start_mean: of the points to be moved.
        goal_mean: of those that they are moved to.
    """
    (along_x, x_of_y), (y_of_x, along_y) = covariance.tolist()
    cosine, sine = along_x + along_y, y_of_x - x_of_y
    (x, y), (to_x, to_y) = start_mean.tolist(), goal_mean.tolist()
    return np.array(((cosine, -sine, to_x - (cosine * x - sine * y)), (sine, cosine, to_y - (sine * x + cosine * y))))


def lie_apart(points: npt.NDArray[Real]) -> bool:
    """Whether n points of any dimension are places, and not all the same but for what arithmetic rounds."""
    if not np.isfinite(points).all():
        return False
    with np.errstate(over="ignore"):
        low, high = points.min(axis=0), points.max(axis=0)
        span = float((high - low).max())
    return ROUNDING * max(float(high.max()), -float(low.min())) < span < math.inf


def transform_points(affine: npt.NDArray[np.float64], points: npt.NDArray[Real]) -> npt.NDArray[Real]:
    """Apply a d x (d + 1) map to points of shape (..., d); the points' type is kept."""
    matrix = affine.astype(points.dtype)
    moved: npt.NDArray[Real] = points @ matrix[:, :-1].T + matrix[:, -1]
    return moved


def transform_mesh(affine: Affine, mesh: npt.NDArray[Real]) -> npt.NDArray[Real]:
    """Apply a similarity of the plane to n x 3 points; z is scaled along with x and y."""
    moved = np.empty_like(mesh)
    moved[:, :2] = transform_points(affine, mesh[:, :2])
    moved[:, 2] = mesh[:, 2] * scale_of(affine)
    return moved


def invert(affine: Affine) -> Affine:
    """The map back.

    Raises:
        ValueError: the map is singular or no numbers, so there is no way back.
    """
    (a, b, c), (d, e, f) = affine.tolist()
    determinant = a * e - b * d
    if not (0.0 < abs(determinant) < math.inf and math.isfinite(c) and math.isfinite(f)):
        raise ValueError("a singular affine map cannot be inverted")
    a, b, d, e = e / determinant, -b / determinant, -d / determinant, a / determinant
    return np.array([[a, b, -(a * c + b * f)], [d, e, -(d * c + e * f)]])


def compose(second: Affine, first: Affine) -> Affine:
    """The map that applies ``first`` and then ``second``."""
    # Dozens of times a frame: for so few numbers NumPy's calls take four times as long.
    (a, b, c), (d, e, f) = second.tolist()
    (g, h, i), (j, k, m) = first.tolist()
    return np.array(
        ((a * g + b * j, a * h + b * k, a * i + b * m + c), (d * g + e * j, d * h + e * k, d * i + e * m + f))
    )


def scale_of(affine: Affine) -> float:
    """How many times longer a length becomes (for a similarity; the geometric mean for any other map)."""
    (a, b, _), (d, e, _) = affine.tolist()
    return math.sqrt(abs(a * e - b * d))


class SquareRegion(NamedTuple):
    """A square anywhere in the frame, turned by an angle."""

    x: float
    """Of the middle, in frame pixels."""
    y: float
    side: float
    """In frame pixels."""
    angle: float
    """Radians by which the square's x axis is turned from the frame's, positive from x towards y (clockwise)."""

    def to_crop(self, size: int) -> Affine:
        """The map from the frame into a crop of ``size`` x ``size`` pixels that shows just this square, upright."""
        scale = size / self.side
        cosine, sine = scale * math.cos(self.angle), scale * math.sin(self.angle)
        middle = (size - 1) / 2
        return np.array(
            [
                [cosine, sine, middle - cosine * self.x - sine * self.y],
                [-sine, cosine, middle + sine * self.x - cosine * self.y],
            ]
        )


def angle_between(start: npt.NDArray[Real], end: npt.NDArray[Real]) -> float:
    """Direction from one point to another, radians, 0 along x, positive towards y."""
    return math.atan2(float(end[1] - start[1]), float(end[0] - start[0]))


def square_around(points: npt.NDArray[Real], angle: float, expansion: float) -> SquareRegion:
    """The square turned by ``angle`` about the middle of the points' extent in that direction.

    Args:
        points: n x 2 frame points.
        angle: as in :class:`SquareRegion`; the direction of the eye line levels the eyes.
        expansion: side of the square over the longer side of the extent.

    Raises:
        ValueError: all points lie on one spot, so there is no extent.
    """
    cosine, sine = math.cos(angle), math.sin(angle)
    along = points[:, 0] * cosine + points[:, 1] * sine
    across = points[:, 1] * cosine - points[:, 0] * sine
    low_along, high_along = float(along.min()), float(along.max())
    low_across, high_across = float(across.min()), float(across.max())
    side = max(high_along - low_along, high_across - low_across) * expansion
    if not 0.0 < side < math.inf:
        raise ValueError("points on one spot, or that are no numbers, span no square")
    u, v = (low_along + high_along) / 2, (low_across + high_across) / 2
    return SquareRegion(u * cosine - v * sine, u * sine + v * cosine, side, angle)


def _template(*points: tuple[float, float]) -> Landmarks5:
    array = np.array(points, np.float32)
    array.flags.writeable = False
    return array


FACE_TEMPLATES = MappingProxyType(
    {
        "arcface_112_v1": _template(
            (0.35473214, 0.45658929),
            (0.64526786, 0.45658929),
            (0.50000000, 0.61154464),
            (0.37913393, 0.77687500),
            (0.62086607, 0.77687500),
        ),
        "arcface_112_v2": _template(
            (0.34191607, 0.46157411),
            (0.65653393, 0.45983393),
            (0.50022500, 0.64050536),
            (0.37097589, 0.82469196),
            (0.63151696, 0.82325089),
        ),
        "arcface_128": _template(
            (0.36167656, 0.40387734),
            (0.63696719, 0.40235469),
            (0.50019687, 0.56044219),
            (0.38710391, 0.72160547),
            (0.61507734, 0.72034453),
        ),
        "dfl_whole_face": _template(
            (0.35342266, 0.39285716),
            (0.62797622, 0.39285716),
            (0.48660713, 0.54017860),
            (0.38839287, 0.68750011),
            (0.59821427, 0.68750011),
        ),
        "ffhq_512": _template(
            (0.37691676, 0.46864664),
            (0.62285697, 0.46912813),
            (0.50123859, 0.61331904),
            (0.39308822, 0.72541100),
            (0.61150205, 0.72490465),
        ),
        "mtcnn_512": _template(
            (0.36562865, 0.46733799),
            (0.63305391, 0.46585885),
            (0.50019127, 0.61942959),
            (0.39032951, 0.77598822),
            (0.61178945, 0.77476328),
        ),
    }
)
"""Where the five points of a face lie in an aligned crop, 0..1 of its side; by the name the field knows them under."""


def fit_template(landmarks: Landmarks5, template: str, size: int) -> Affine:
    """The similarity from the frame into a crop of ``size`` pixels in which the face lies on the named template.

    Raises:
        KeyError: there is no template of that name.
    """
    return fit_similarity(landmarks, FACE_TEMPLATES[template] * np.float32(size))
