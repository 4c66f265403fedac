"""The chain that is judged: the embedded models, each on one thread of the processor."""

from __future__ import annotations

from pathlib import Path

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.store import ModelStore
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.detect.yunet import YuNet
from facefusion.faces.landmark.mesh import FaceMesh
from facefusion.faces.recognise.sface import SFace
from facefusion.inference.providers.cpu import CPU, CpuOptions
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession
from facefusion.observability.events import Fanout


def load_analyser(folder: Path) -> FaceAnalyser:
    """With the models fetched into ``folder`` where they are missing."""
    store = ModelStore(Catalogue.load(), [folder], Fanout())

    def load(name: str) -> tuple[ModelCard, OrtSession]:
        card = store.catalogue.card(name)
        return card, OrtSession(LoadRequest(ModelFile(name, store.ensure(card)), ((CPU, CpuOptions()),)))

    return FaceAnalyser(FaceSearch(YuNet(*load("yunet"))), FaceMesh(*load("face_mesh")), SFace(*load("sface")))
