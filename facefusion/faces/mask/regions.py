"""The regions of a face as its mesh has them, without a network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from facefusion.core.values import Mask, Size
from facefusion.faces.mask.base import FaceCrop
from facefusion.faces.mask.mesh import mesh_of
from facefusion.faces.surface.atlas import DETAIL
from facefusion.faces.surface.drawn import draw_surface
from facefusion.faces.surface.forehead import with_forehead
from facefusion.faces.surface.regions import MOUTH, SKIN, region_maps
from facefusion.faces.surface.survey import survey
from facefusion.vision.filters import Map, resize
from facefusion.vision.geometry import transform_mesh


class MeshParser:
    """Implements :class:`~facefusion.faces.mask.base.FaceParser`.

    A region lies where the mesh of the picture's face has it, less what lies over the skin. Glasses are none that the
    mesh knows.
    """

    lacks = frozenset(("glasses",))

    def regions(self, crops: Sequence[FaceCrop], names: frozenset[str]) -> list[Mask]:
        """See there.

        Raises:
            FaceFusionError: a face has no mesh.
        """
        maps = region_maps()
        chosen: Map = np.zeros((DETAIL, DETAIL), np.float32)
        for name in names & maps.keys():
            chosen = np.maximum(chosen, maps[name])
        return [_drawn(crop, chosen, names) for crop in crops]


def _drawn(crop: FaceCrop, chosen: Map, names: frozenset[str]) -> Mask:
    mesh = mesh_of(crop.face, "parser", "region")
    looked = survey(crop.picture, mesh)
    bare = resize(looked.bare, Size(DETAIL, DETAIL))
    placed = transform_mesh(crop.frame_to_crop, mesh.astype(np.float32))
    drawn = draw_surface(chosen * bare, placed, crop.size, between_lips=float(MOUTH in names), outside=0)
    if SKIN in names:
        # Of the face that was there: what is put into its place has no more forehead than that.
        drawn = with_forehead(drawn, crop.picture.warp(crop.frame_to_crop, crop.size), placed, looked.forehead)
    return (drawn > 0.5).astype(np.float32)
