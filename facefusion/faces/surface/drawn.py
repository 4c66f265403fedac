"""The unwrapped face, drawn back into a picture."""

from __future__ import annotations

import numpy as np

from facefusion.core.values import Landmarks478, Size
from facefusion.faces.surface import topology
from facefusion.vision.filters import Map, sample
from facefusion.vision.raster import rasterise


def draw_surface(unwrapped: Map, mesh: Landmarks478, size: Size, *, between_lips: float, outside: float) -> Map:
    """What each pixel of a picture shows of a map of the unwrapped face, height x width.

    Args:
        unwrapped: n x n.
        mesh: of the face, in pixels of the result.
        size: of the result.
        between_lips: where the face's mouth is open.
        outside: where no face is.
    """
    surface = mesh[: topology.VERTEX_COUNT]
    mouth = topology.mouth_triangles()
    order = np.concatenate((mouth, topology.triangles()[topology.far_to_near(surface)]))
    raster = rasterise(np.ascontiguousarray(surface[:, :2], np.float32), order, size)
    coordinates = topology.texture_coordinates() * np.float32(unwrapped.shape[0]) - np.float32(0.5)
    drawn = sample(unwrapped, *(raster.interpolate(np.ascontiguousarray(coordinates[:, axis])) for axis in (0, 1)))
    drawn[raster.inside() == 0] = outside
    drawn.reshape(-1)[raster.covered[raster.seen < len(mouth)]] = between_lips
    return drawn
