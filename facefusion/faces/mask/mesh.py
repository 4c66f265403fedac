"""What covers a face, without a network for it: found on the skin of its mesh, and by the hands near it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from facefusion.core.errors import FaceFusionError
from facefusion.core.values import Face, Landmarks478, Mask, Picture
from facefusion.faces.hands.joints import Joints
from facefusion.faces.hands.shape import draw_hand
from facefusion.faces.mask.base import FaceCrop
from facefusion.faces.surface.drawn import draw_surface
from facefusion.faces.surface.forehead import with_forehead
from facefusion.faces.surface.survey import survey
from facefusion.vision.geometry import transform_mesh


class HandSearch(Protocol):
    """Finds hands near a face. Thread-safe. :class:`facefusion.faces.hands.find.HandFinder` is one."""

    def near(self, picture: Picture, mesh: Landmarks478) -> Sequence[Joints]:
        """The joints of each hand that reaches to the face of a mesh, in the picture."""


class MeshOccluder:
    """Implements :class:`~facefusion.faces.mask.base.FaceOccluder`.

    The face is what the mesh covers and the forehead above it, less hair, hats and frames over the skin, less what is
    held in front of the lower face, and less hands.

    Args:
        hands: finds those.
    """

    def __init__(self, hands: HandSearch) -> None:
        self._hands = hands

    def uncovered(self, crops: Sequence[FaceCrop]) -> list[Mask]:
        """See there.

        Raises:
            FaceFusionError: a face has no mesh.
        """
        return [self._uncovered(crop) for crop in crops]

    def _uncovered(self, crop: FaceCrop) -> Mask:
        mesh = mesh_of(crop.face, "occluder", "occlusion")
        looked = survey(crop.picture, mesh)
        placed = transform_mesh(crop.frame_to_crop, mesh.astype(np.float32))
        face: Mask = draw_surface(looked.bare, placed, crop.size, between_lips=1, outside=0)
        face = with_forehead(face, crop.pixels, placed, looked.forehead)
        for joints in self._hands.near(crop.picture, mesh):
            face[draw_hand(transform_mesh(crop.frame_to_crop, joints), crop.size) > 0] = 0
        return face


def mesh_of(face: Face, model: str, mask: str) -> Landmarks478:
    """The mesh of a face.

    Args:
        face: of a picture.
        model: what needs it: ``occluder``, ``parser``.
        mask: the type of mask that it is needed for.

    Raises:
        FaceFusionError: it has none.
    """
    if face.mesh is None:
        raise FaceFusionError(
            f"the {model} 'mesh' needs the face mesh of each face and got a face without",
            f"Choose another --face-{model}-model, or leave '{mask}' out of --face-mask-types.",
        )
    return face.mesh
