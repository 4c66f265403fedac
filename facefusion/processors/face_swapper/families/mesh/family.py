"""The mesh family: real pixels of the source's photos on the tracked mesh of the target, in the target's light.

No network beyond the landmarks is needed, so it works with what pip brings, at any resolution.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self, cast

from facefusion.core.errors import FaceFusionError, FaceNotFoundError
from facefusion.core.remembered import Remembered
from facefusion.core.values import Face, Frame, Landmarks478, Picture
from facefusion.faces.mask.masker import PLAIN, FaceMasker
from facefusion.processors.base import Scene, Source, people
from facefusion.processors.face_swapper.families.mesh.identity import MeshIdentity, prepare_identity
from facefusion.processors.face_swapper.families.mesh.observe import Observation, Track, observe, warm_up
from facefusion.processors.face_swapper.families.mesh.render import Strength, swap

FORGET_AFTER = 5
"""Seconds after which a track that is not seen any more is forgotten."""


IDENTITY_BYTES = 10 << 20
"""About what the maps of a person take."""

BYTES_PER_PIXEL = 3
"""Of a photo."""


class MeshFamily:
    """Implements :class:`~facefusion.processors.face_swapper.families.base.SwapperFamily`.

    Args:
        weight: the option ``face_swapper_weight``, 0 .. 1.
        masker: bounds what is changed, beyond the outline that the mesh itself gives.
        remembered: keeps identities for the next time that the same photos are given.
    """

    def __init__(self, weight: float, masker: FaceMasker = PLAIN, remembered: Remembered | None = None) -> None:
        self._strength = Strength.of_weight(weight)
        self._masker = masker
        self._remembered = remembered or Remembered()
        self._identities: tuple[MeshIdentity, ...] = ()
        self._tracks: dict[tuple[int, int], Track] = {}
        """By number of the track and of the person who is put in."""

    def prepare(self, sources: Sequence[Source]) -> None:
        """Learn the identity of each person.

        Raises:
            FaceNotFoundError: a source comes without landmarks.
        """
        meshes = [[(photo.picture, _mesh_of(photo)) for photo in photos] for photos in people(sources)]
        self._identities = tuple(self._identity_of(photos) for photos in meshes)
        warm_up()

    def observe(self, frame: Frame, face: Face) -> Observation:
        """Measure one face; tracks that carry a number are smoothed over time."""
        known = None if face.track is None or face.fresh else self._tracks.get((face.track, face.source))
        observation, track = observe(frame, face, _mesh(face), self._known(face), self._strength.shape, known)
        if face.track is not None:
            self._tracks[face.track, face.source] = track
            gone = [key for key, other in self._tracks.items() if frame.time - other.time > FORGET_AFTER]
            for key in gone:
                del self._tracks[key]
        return observation

    def swap(self, scenes: Sequence[Scene]) -> None:
        """Change each face in place."""
        for scene in scenes:
            for face, observation in zip(scene.faces, cast("Sequence[object]", scene.observation), strict=True):
                if not isinstance(observation, Observation):
                    raise TypeError(f"expected what observe() gave for this face, not {observation!r}")
                bound = self._masker.bound(scene.picture, face)
                swap(scene.picture, self._known(face), observation, self._strength, bound)

    def afresh(self) -> Self:
        """The same identities without tracks."""
        other = copy.copy(self)
        other._tracks = {}
        return other

    def _identity_of(self, photos: Sequence[tuple[Picture, Landmarks478]]) -> MeshIdentity:
        """Of a person; known by the very photos that it was taken from, which stay as long as it does."""
        key = ("mesh identity", *((id(picture), id(mesh)) for picture, mesh in photos))
        _, identity = self._remembered.of(key, lambda: (photos, prepare_identity(photos)), _bytes_of)
        return identity

    def _known(self, face: Face) -> MeshIdentity:
        if not self._identities:
            raise FaceFusionError("the mesh swapper has no source face yet", "Call prepare() first.")
        return self._identities[face.source]


def _bytes_of(known: tuple[Sequence[tuple[Picture, Landmarks478]], MeshIdentity]) -> int:
    photos, _ = known
    return IDENTITY_BYTES + sum(BYTES_PER_PIXEL * picture.size.width * picture.size.height for picture, _ in photos)


def _mesh_of(photo: Source) -> Landmarks478:
    if photo.face.mesh is None:
        raise FaceNotFoundError(
            f"no face mesh could be laid over the face in {photo.path}",
            "Choose a source photo that shows the face from the front.",
        )
    return photo.face.mesh


def _mesh(face: Face) -> Landmarks478:
    if face.mesh is None:
        raise FaceFusionError(
            "the mesh swapper needs the 478 landmarks of each target face and got a face without",
            "Choose a landmarker that reads the mesh, or works beside one that does.",
        )
    return face.mesh
