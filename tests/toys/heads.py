"""Painted heads: meshes in any pose with skin, light and features that a test knows everything about."""

from __future__ import annotations

from fractions import Fraction

import cv2
import numpy as np

from facefusion.core.values import Face, Frame, Size
from facefusion.faces.surface import topology
from facefusion.processors.base import Source
from facefusion.vision.picture import BgrPicture
from facefusion.vision.raster import rasterise

FRAME = Size(320, 240)
SKIN = (120, 150, 200)


def mesh(centre=(160, 120), radius=60.0, yaw=0.0, roll=0.0, wider_eyes=0.0, open_mouth=0.0):
    """478 points of an egg-shaped face with a nose; angles in degrees, ``wider_eyes`` in radii."""
    u, v = topology.texture_coordinates().T
    x, y = (u - 0.5) * 1.7, (v - 0.5) * 2.2
    z = 0.9 * x**2 + 0.35 * y**2 - 0.35 * np.exp(-((x / 0.16) ** 2) - ((y - 0.1) / 0.25) ** 2)
    for eye, side in ((topology.FEATURES[0], -1), (topology.FEATURES[1], 1)):
        x[list(eye)] += side * wider_eyes
    y[list(topology.LOWER_INNER_LIP[1:-1])] += open_mouth
    points = np.stack((x, y, z), axis=1)
    irises = [points[list(eye)].mean(axis=0) for eye in (topology.LEFT_EYE, topology.RIGHT_EYE)]
    points = np.concatenate((points, np.repeat(irises, 5, axis=0)))
    turn, tilt = np.radians(yaw), np.radians(roll)
    around_y = np.array(((np.cos(turn), 0, np.sin(turn)), (0, 1, 0), (-np.sin(turn), 0, np.cos(turn))))
    around_z = np.array(((np.cos(tilt), -np.sin(tilt), 0), (np.sin(tilt), np.cos(tilt), 0), (0, 0, 1)))
    return (points @ around_y.T @ around_z.T * radius + (*centre, 0)).astype(np.float32)


def skin(colour=SKIN, seed=0, contrast=1.0):
    """An unwrapped face, 256 x 256 BGR: soft light from the left, brows, eyes, lips, moles and a little grain."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:256, :256] / 256
    face = np.empty((256, 256, 3))
    face[:] = colour
    points = np.rint(topology.texture_coordinates() * 256).astype(np.int32)
    for vertices, tone in (
        (topology.LEFT_BROW, 0.45),
        (topology.RIGHT_BROW, 0.45),
        (topology.LEFT_EYE, 0.3),
        (topology.RIGHT_EYE, 0.3),
        (topology.OUTER_LIP, 0.7),
    ):
        cv2.fillConvexPoly(face, cv2.convexHull(points[list(vertices)]), [float(c * tone) for c in colour])
    for _ in range(6):
        spot = rng.uniform((0.3, 0.4), (0.7, 0.8)) * 256
        cv2.circle(face, tuple(int(c) for c in spot), int(rng.integers(2, 6)), [float(c * 0.6) for c in colour], -1)
    face = face * (1 + contrast * (0.25 * (0.5 - columns) + 0.1 * (0.5 - rows)))[..., None]
    face += rng.normal(0, 1.5, (256, 256, 1))
    return np.clip(cv2.GaussianBlur(face, (0, 0), 0.8), 0, 255).astype(np.float32)


def paint(placed, texture, size=FRAME, background=90):
    """The head on a plain background, BGR uint8."""
    order = np.concatenate((topology.mouth_triangles(), topology.triangles()[topology.far_to_near(placed)]))
    raster = rasterise(placed[:468, :2], order, size)
    u, v = (raster.interpolate(c * 256 - np.float32(0.5)) for c in topology.texture_coordinates().T)
    seen = cv2.remap(texture, u, v, cv2.INTER_LINEAR)
    seen[raster.inside() == 0] = background
    return np.rint(seen).astype(np.uint8)


def face(placed, track=None, fresh=False):
    low, high = placed[:468, :2].min(axis=0), placed[:468, :2].max(axis=0)
    return Face(
        box=np.concatenate((low, high)).astype(np.float32),
        score=0.9,
        landmarks5=placed[[468, 473, 1, 61, 291], :2],
        mesh=placed,
        presence=0.99,
        track=track,
        fresh=fresh,
    )


def source(placed=None, texture=None):
    placed = mesh(radius=90, centre=(160, 120)) if placed is None else placed
    pixels = paint(placed, skin() if texture is None else texture)
    return Source("source.png", BgrPicture(pixels), face(placed))


def frame(pixels, index=0, rate=25):
    return Frame(index, Fraction(index, rate), BgrPicture(pixels))
