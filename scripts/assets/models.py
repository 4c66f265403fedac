"""The project's own models, for the portraits: the face's mesh, and super-resolution."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.store import ModelStore
from facefusion.core.errors import FaceNotFoundError
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.detect.yunet import YuNet
from facefusion.faces.landmark.base import region_of_detection, region_of_mesh
from facefusion.faces.landmark.mesh import FaceMesh
from facefusion.inference.providers.cpu import CPU, CpuOptions
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession
from facefusion.observability.events import Fanout
from facefusion.processors.super_resolution import SuperResolution
from facefusion.vision.picture import BgrPicture
from scripts.assets.frames import Points
from scripts.assets.portrait import Image

_REFINEMENTS = 3


class Models:
    """Models out of the project's catalogue, fetched into ``folder`` when they are first used."""

    def __init__(self, folder: Path) -> None:
        self._store = ModelStore(Catalogue.load(), [folder], Fanout())

    def mesh(self, picture: Image) -> Points:
        """The 478 landmarks of the portrait's face, (478, 3) in its pixels.

        Raises:
            FaceNotFoundError: no face was detected.
        """
        view = BgrPicture(picture)
        found = FaceSearch(YuNet(*self._loaded("yunet"))).find(view)
        if not len(found.scores):
            raise FaceNotFoundError("No face was detected in a portrait", "Look at the picture that was fetched.")
        landmarker = FaceMesh(*self._loaded("face_mesh"))
        mesh = landmarker.read(view, region_of_detection(found.boxes[0], found.points[0])).mesh
        for _ in range(_REFINEMENTS):
            mesh = landmarker.read(view, region_of_mesh(mesh)).mesh
        return mesh.astype(np.float64)

    def enlarge(self, picture: Image) -> npt.NDArray[np.float32]:
        """Four times the size, 0..255."""
        return SuperResolution(*self._loaded("real_esrgan_x4")).enlarge([picture])[0]

    def _loaded(self, name: str) -> tuple[ModelCard, OrtSession]:
        """A model on the processor, by itself: two portraits need no pool."""
        card = self._store.catalogue.card(name)
        file = ModelFile(name, self._store.ensure(card), threads=os.cpu_count() or 1)
        return card, OrtSession(LoadRequest(file, ((CPU, CpuOptions()),)))
