"""A face in a frame, unwrapped and searched for what lies over its skin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from facefusion.core.values import Landmarks478, Picture, Size
from facefusion.faces.surface import atlas, topology
from facefusion.faces.surface.hair import SkinColour, find_covering
from facefusion.faces.surface.occluder import find_occluder
from facefusion.faces.surface.square import face_square
from facefusion.faces.surface.tone import to_lab
from facefusion.vision.filters import Map, sample
from facefusion.vision.geometry import transform_mesh

GLANCE = 128
"""Side of the small crop that is unwrapped."""

SIDE = 96
"""Side of the unwrapped face that is searched."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What a look at a face found; maps of SIDE x SIDE, unwrapped."""

    lab: Map
    """The face in Lab, x 3."""
    facing: Map
    """How much the surface looks at the camera, 0 .. 1."""
    bare: Map
    """1 where skin is bare, 0 where hair, a hat, a frame or something else lies over it."""
    beard: Map
    """1 where a beard or a deep shadow lies."""
    forehead: SkinColour
    """Of bare skin in the upper face."""


def survey(picture: Picture, mesh: Landmarks478) -> Survey:
    """Look at a face.

    Args:
        picture: that shows it.
        mesh: of the face, in the picture.
    """
    to_glance = face_square(mesh).to_crop(GLANCE)
    glance = picture.warp(to_glance, Size(GLANCE, GLANCE))
    placed = transform_mesh(to_glance, mesh.astype(np.float32))
    raster = atlas.raster(SIDE)
    x, y = (raster.interpolate(placed[: topology.VERTEX_COUNT, axis]) for axis in (0, 1))
    lab = to_lab(sample(glance, x, y))
    facing = np.clip(raster.interpolate(topology.facing(placed)), 0, 1)
    parts = atlas.masks(SIDE)
    covering = find_covering(lab, parts, facing, of_source=False)
    bare = 1 - np.maximum(covering.hair, find_occluder(lab, parts, facing))
    return Survey(lab, facing, bare, covering.beard, covering.forehead)
