"""The regions of a face that have names, on its unwrapped mesh. Left and right are the image's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import numpy as np

from facefusion.faces.surface import topology
from facefusion.faces.surface.atlas import DETAIL, hull, polygon, raster
from facefusion.vision.filters import Map, Marks

SKIN = "skin"
MOUTH = "mouth"
"""What is between the lips has no place on the mesh."""

_CORNERS = (topology.OUTER_LIP.index(61), topology.OUTER_LIP.index(291))
_UPPER_LIP = (*topology.OUTER_LIP[_CORNERS[0] : _CORNERS[1] + 1], *reversed(topology.UPPER_INNER_LIP))
_LOWER_LIP = (*topology.OUTER_LIP[_CORNERS[1] :], topology.OUTER_LIP[_CORNERS[0]], *topology.LOWER_INNER_LIP)
_BROW_MARGIN = 2
"""Texels by which hairs stand out of the brow's points."""


@cache
def region_maps() -> Mapping[str, Map]:
    """1 where the unwrapped face shows a region, 0 elsewhere; a texel belongs to one or, beyond the mesh, to none."""
    features: dict[str, Marks] = {
        "left-eyebrow": hull(topology.LEFT_BROW, _BROW_MARGIN),
        "right-eyebrow": hull(topology.RIGHT_BROW, _BROW_MARGIN),
        "left-eye": polygon(topology.LEFT_EYE),
        "right-eye": polygon(topology.RIGHT_EYE),
        "upper-lip": polygon(_UPPER_LIP),
        "lower-lip": polygon(_LOWER_LIP),
        "nose": hull(topology.NOSE, 0),
    }
    free = raster(DETAIL).inside() > 0
    maps: dict[str, Map] = {}
    for name, marks in features.items():
        maps[name] = ((marks > 0) & free).astype(np.float32)
        free &= marks == 0
    maps[SKIN] = free.astype(np.float32)
    for one in maps.values():
        one.flags.writeable = False
    return MappingProxyType(maps)
