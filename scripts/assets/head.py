"""The head as a surface in space: its depth, how far each part follows the head, and where turning takes it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.faces.surface.topology import OVAL, VERTEX_COUNT
from scripts.assets.frames import Points, Values, smoothstep
from scripts.assets.portrait import Staging

Field = npt.NDArray[np.float32]
"""One or more numbers per portrait pixel of the canvas: height x width, or height x width x n."""

_CHIN = 152
_COARSE = 4
_CAMERA_DISTANCE = 9.0
_NEWTON_STEPS = 14
_SMALLEST_DETERMINANT = 0.05
STEEPEST = 1.5
"""Largest slope of the surface. A turn by 25 degrees folds the picture over from a slope of cot 25 = 2.1 on."""


@dataclass(frozen=True, slots=True)
class Pose:
    """How the head is held against the portrait. Angles in degrees, shifts in portrait pixels."""

    yaw: float = 0.0
    """Positive turns the nose to the image's right."""
    pitch: float = 0.0
    """Positive nods down."""
    roll: float = 0.0
    """Positive tilts clockwise as seen in the image."""
    shift: tuple[float, float] = (0.0, 0.0)


def rotation(pose: Pose) -> npt.NDArray[np.float64]:
    """The 3x3 rotation of a pose, roll after pitch after yaw; x to the right, y down, depth towards the camera."""
    yaw, pitch, roll = (math.radians(angle) for angle in (pose.yaw, pose.pitch, pose.roll))
    turn = np.array([[math.cos(yaw), 0, math.sin(yaw)], [0, 1, 0], [-math.sin(yaw), 0, math.cos(yaw)]])
    nod = np.array([[1, 0, 0], [0, math.cos(pitch), math.sin(pitch)], [0, -math.sin(pitch), math.cos(pitch)]])
    tilt = np.array([[math.cos(roll), -math.sin(roll), 0], [math.sin(roll), math.cos(roll), 0], [0, 0, 1]])
    return np.asarray(tilt @ nod @ turn, np.float64)


@dataclass(frozen=True, slots=True)
class Head:
    """The portrait's head in space. Fields have one value per portrait pixel of the canvas."""

    corner: tuple[int, int]
    """Portrait x and y of the fields' first value."""
    pivot: tuple[float, float]
    """Portrait x and y that the head turns about."""
    radius: float
    depth: Field
    """Height of the surface above the plane through the pivot, towards the camera."""
    turning: Field
    """How much each point takes part in yaw and pitch, 0..1."""
    swaying: Field
    """How much each point takes part in roll and shift, 0..1."""
    solid: Field
    """How much each point is lit by its slope, 0..1: the head without its blurry rim."""

    @classmethod
    def of(cls, mesh: Points, staging: Staging) -> Head:
        """Lay a surface through the mesh and on to the outline of the head, where its depth ends at 0.

        Args:
            mesh: (478, 3), the portrait's own landmarks; smaller z is nearer.
            staging: gives the outline and the canvas.
        """
        left, top, right, bottom = staging.canvas
        x, y = np.meshgrid(np.arange(left, right, dtype=np.float64), np.arange(top, bottom, dtype=np.float64))
        centre_x, centre_y, half_x, half_y = staging.head
        radial = np.hypot((x - centre_x) / half_x, (y - centre_y) / half_y)
        neck = smoothstep(y, staging.neck[1], staging.neck[0])
        face = mesh[:VERTEX_COUNT]
        plane = float(face[list(OVAL), 2].max()) + 0.04 * half_x
        pivot = (float(face[list(OVAL), 0].mean()), float(face[_CHIN, 1]))
        rough = _surface(face, plane, staging, x, y) * smoothstep(radial, 1.25, 0.9)
        depth = cv2.GaussianBlur(level(rough, STEEPEST), (0, 0), 0.025 * half_x)
        return cls(
            corner=(left, top),
            pivot=pivot,
            radius=half_y,
            depth=np.asarray(depth, np.float32),
            turning=(smoothstep(radial, 1.3, 0.85) * neck).astype(np.float32),
            swaying=(smoothstep(radial, 1.75, 0.95) * neck).astype(np.float32),
            solid=(smoothstep(radial, 0.95, 0.55) * neck).astype(np.float32),
        )

    def displacement(self, pose: Pose) -> Field:
        """How far each portrait pixel moves in the image, height x width x 2."""
        height, width = self.depth.shape
        x, y = np.meshgrid(
            np.arange(width, dtype=np.float64) + self.corner[0] - self.pivot[0],
            np.arange(height, dtype=np.float64) + self.corner[1] - self.pivot[1],
        )
        space = np.stack([x, y, self.depth.astype(np.float64)])
        turned = np.tensordot(rotation(Pose(pose.yaw, pose.pitch)), space, 1)
        # Seen from a camera some head heights away; the head at rest is seen as in the portrait, so only changes count.
        distance = _CAMERA_DISTANCE * self.radius
        nearer = (distance - space[2]) / (distance - turned[2])
        turning = self.turning.astype(np.float64)
        place = space[:2] + turning * (turned[:2] * nearer - space[:2])
        tilted = np.tensordot(rotation(Pose(roll=pose.roll))[:2, :2], place, 1)
        tilted = tilted + np.array(pose.shift)[:, None, None]
        moved = place + self.swaying.astype(np.float64) * (tilted - place)
        return np.ascontiguousarray(np.moveaxis(moved - space[:2], 0, -1).astype(np.float32))

    def normals(self) -> Field:
        """Unit normals of the smoothed surface (x right, y down, z to the camera), height x width x 3."""
        smooth = cv2.GaussianBlur(self.depth, (0, 0), 0.05 * self.radius)
        rise_y, rise_x = np.gradient(smooth)
        normal = np.stack([-rise_x, -rise_y, np.ones_like(smooth)], -1)
        return np.asarray(normal / np.linalg.norm(normal, axis=-1, keepdims=True), np.float32)


def _surface(face: Points, plane: float, staging: Staging, x: Values, y: Values) -> Values:
    """Depth by biharmonic interpolation between the mesh and rings on an ellipsoid out to the head's outline."""
    centre_x, centre_y, half_x, half_y = staging.head
    oval = face[list(OVAL)]
    depths = plane - face[:, 2]
    rings = []
    for share in (0.25, 0.5, 0.75, 1.0, 1.2):
        angle = np.arctan2((oval[:, 1] - centre_y) / half_y, (oval[:, 0] - centre_x) / half_x)
        rim_x, rim_y = centre_x + half_x * np.cos(angle), centre_y + half_y * np.sin(angle)
        fall = math.sqrt(max(1.0 - share**2, 0.0))
        ring = [oval[:, 0] + share * (rim_x - oval[:, 0]), oval[:, 1] + share * (rim_y - oval[:, 1])]
        rings.append(np.stack([*ring, (plane - oval[:, 2]) * fall], 1))
    known = np.concatenate([np.column_stack([face[:, :2], depths]), *rings])
    scale = half_x
    coarse = (slice(None, None, _COARSE), slice(None, None, _COARSE))
    wanted = np.stack([x[coarse].ravel(), y[coarse].ravel()], 1)
    kernel = _biharmonic(known[:, :2], known[:, :2], scale)
    kernel[np.diag_indices_from(kernel)] += 1e-3
    borders = np.column_stack([np.ones(len(known)), (known[:, :2] - [centre_x, centre_y]) / scale])
    system = np.block([[kernel, borders], [borders.T, np.zeros((3, 3))]])
    weights = np.linalg.solve(system, np.concatenate([known[:, 2], np.zeros(3)]))
    plane_terms = np.column_stack([np.ones(len(wanted)), (wanted - [centre_x, centre_y]) / scale])
    values = _biharmonic(wanted, known[:, :2], scale) @ weights[:-3] + plane_terms @ weights[-3:]
    grid = values.reshape(x[coarse].shape)
    # Sampled every fourth pixel from the first on: an affine map, so that no half-pixel shift creeps in.
    to_full = np.array([[_COARSE, 0.0, 0.0], [0.0, _COARSE, 0.0]])
    size = (x.shape[1], x.shape[0])
    full = cv2.warpAffine(grid, to_full, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.maximum(np.asarray(full, np.float64), 0.0)


def level(surface: Values, steepest: float) -> Values:
    """The highest surface below ``surface`` that rises by no more than ``steepest`` per pixel along either axis."""
    result = surface.copy()
    while True:
        before = result.copy()
        for view in (result, result[::-1], result.T, result.T[::-1]):
            for row in range(1, len(view)):
                np.minimum(view[row], view[row - 1] + steepest, out=view[row])
        if np.array_equal(before, result):
            return result


def _biharmonic(wanted: Points, known: Points, scale: float) -> Values:
    squared = (((wanted[:, None, :] - known[None, :, :]) / scale) ** 2).sum(-1)
    return np.asarray(0.5 * squared * np.log(squared + 1e-12), np.float64)


def determinant(displacement: Field) -> Field:
    """By what factor a displacement changes the area around each pixel; at or below 0 the picture would fold over."""
    xx, xy, yx, yy = _jacobian(displacement)
    return np.asarray(xx * yy - xy * yx, np.float32)


def invert(displacement: Field) -> Field:
    """Which pixel (column and row of the field) arrives at each pixel: Newton's method on all pixels at once."""
    height, width = displacement.shape[:2]
    column, row = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    xx, xy, yx, yy = _jacobian(displacement)
    area = np.maximum(xx * yy - xy * yx, _SMALLEST_DETERMINANT)
    inverse = np.stack([yy / area, -xy / area, -yx / area, xx / area], -1).astype(np.float32)
    x, y = column.copy(), row.copy()
    for _ in range(_NEWTON_STEPS):
        moved = cv2.remap(displacement, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        slope = cv2.remap(inverse, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        miss_x, miss_y = column - x - moved[..., 0], row - y - moved[..., 1]
        x = x + np.clip(slope[..., 0] * miss_x + slope[..., 1] * miss_y, -6.0, 6.0)
        y = y + np.clip(slope[..., 2] * miss_x + slope[..., 3] * miss_y, -6.0, 6.0)
    return np.stack([x, y], -1)


def _jacobian(displacement: Field) -> tuple[Field, Field, Field, Field]:
    xy, xx = np.gradient(displacement[..., 0])
    yy, yx = np.gradient(displacement[..., 1])
    parts = (xx + np.float32(1.0), xy, yx, yy + np.float32(1.0))
    return cast("tuple[Field, Field, Field, Field]", parts)
