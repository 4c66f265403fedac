"""A source, prepared: all that is known of it before the first frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from facefusion.core.values import Landmarks478, Picture
from facefusion.processors.face_swapper.families.mesh.geometry import mouth_state
from facefusion.processors.face_swapper.families.mesh.light import Detail, separate_detail
from facefusion.processors.face_swapper.families.mesh.reach import reach
from facefusion.processors.face_swapper.families.mesh.sharpness import DetailSharpness
from facefusion.processors.face_swapper.families.mesh.skin import take_skin
from facefusion.vision.filters import Map


@dataclass(frozen=True, slots=True)
class MeshIdentity:
    """Shape and skin of a person."""

    mesh: Landmarks478
    mouth: npt.NDArray[np.float32]
    """:func:`~facefusion.processors.face_swapper.families.mesh.geometry.mouth_state` of the mesh."""
    detail: Detail
    sharpness: DetailSharpness
    reach: Map
    """:func:`~facefusion.processors.face_swapper.families.mesh.reach.reach` of the skin."""


def prepare_identity(photos: Sequence[tuple[Picture, Landmarks478]]) -> MeshIdentity:
    """Learn a person from photos and their meshes."""
    skin = take_skin(photos)
    detail = separate_detail(skin)
    return MeshIdentity(
        mesh=skin.mesh,
        mouth=mouth_state(skin.mesh),
        detail=detail,
        sharpness=DetailSharpness(detail.levels),
        reach=reach(skin.known),
    )
