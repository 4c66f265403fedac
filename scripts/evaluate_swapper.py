"""Judge the mesh swapper on a portrait and a picture or clip, by numbers.

    python scripts/evaluate_swapper.py SOURCE TARGET [--every 10] [--weight 0.5] [--save RESULT.png]

For each frame judged it prints the cosine similarity (SFace) of the result to the source and to the target, the mean
distance of the result's 468 landmarks from the target's in eye distances, and the milliseconds that observing and
swapping took on one thread; in the last line their means. A good swap is nearer to the source than to the target,
above 0.5, with an error below 0.03. Numbers do not replace looking: ``--save`` puts each target above its result.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from facefusion.app.paths import model_folders
from facefusion.app.subject import Subject
from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.store import ModelStore
from facefusion.core.errors import FaceNotFoundError
from facefusion.core.values import Embedding, Face, Frame, Picture, Pixels
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.detect.yunet import YuNet
from facefusion.faces.landmark.mesh import FaceMesh
from facefusion.faces.landmark.points import FACE_POINTS, eye_distance
from facefusion.faces.recognise.base import similarity
from facefusion.faces.recognise.sface import SFace
from facefusion.inference.providers.cpu import CPU, CpuOptions
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession
from facefusion.media.image import read_image
from facefusion.observability.events import Fanout
from facefusion.processors.base import Scene, Source
from facefusion.processors.face_swapper.families.mesh.family import MeshFamily


class Verdict(NamedTuple):
    """How one frame came out."""

    to_source: float
    to_target: float
    landmark_error: float
    milliseconds: float

    def __str__(self) -> str:
        return (
            f"to source {self.to_source:.3f}  to target {self.to_target:.3f}  "
            f"landmarks {self.landmark_error:.4f}  {self.milliseconds:.1f} ms"
        )


def load_analyser() -> FaceAnalyser:
    """The embedded models, fetched where they are missing."""
    store = ModelStore(Catalogue.load(), model_folders(None), Fanout())

    def load(name: str) -> tuple[ModelCard, OrtSession]:
        card = store.catalogue.card(name)
        file = ModelFile(name, store.ensure(card))
        return card, OrtSession(LoadRequest(file, ((CPU, CpuOptions()),)))

    return FaceAnalyser(FaceSearch(YuNet(*load("yunet"))), FaceMesh(*load("face_mesh")), SFace(*load("sface")))


def largest_face(analyser: FaceAnalyser, picture: Picture, name: str) -> Face:
    """The largest face of a picture, with its embedding.

    Raises:
        FaceNotFoundError: there is none.
    """
    faces = analyser.faces(picture, recognise=True)
    if not faces:
        raise FaceNotFoundError(f"no face was found in {name}", "Choose another picture.")
    return max(faces, key=lambda face: float(face.box[2] - face.box[0]))


def judge(
    analyser: FaceAnalyser, family: MeshFamily, identity: Embedding, frame: Frame, name: str
) -> tuple[Verdict, Pixels]:
    """Swap the largest face of a frame in place and compare."""
    before = largest_face(analyser, frame.picture, name)
    original = frame.picture.to_bgr()
    started = time.perf_counter()
    family.swap([Scene(frame.picture, [before], (family.observe(frame, before),))])
    passed = time.perf_counter() - started
    after = largest_face(analyser, frame.picture, f"the result of {name}")
    assert before.mesh is not None
    assert after.mesh is not None
    assert before.embedding is not None
    assert after.embedding is not None
    moved = np.linalg.norm(after.mesh[:FACE_POINTS, :2] - before.mesh[:FACE_POINTS, :2], axis=1).mean()
    verdict = Verdict(
        similarity(after.embedding, identity),
        similarity(after.embedding, before.embedding),
        float(moved) / eye_distance(before.mesh),
        1000 * passed,
    )
    return verdict, np.concatenate((original, frame.picture.to_bgr())).astype(np.uint8)


def main() -> None:
    """Judge what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--every", type=int, default=10, help="judge one frame of so many")
    parser.add_argument("--weight", type=float, default=0.5, help="face_swapper_weight")
    parser.add_argument("--save", type=Path, help="picture to write")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    analyser = load_analyser()
    photo = read_image(options.source)
    face = largest_face(analyser, photo, str(options.source))
    assert face.embedding is not None
    family = MeshFamily(options.weight)
    family.prepare([Source(str(options.source), photo, face)])
    verdicts, sheets = [], []
    with Subject.open(options.target).frames(0) as frames:
        for frame in islice(frames, 0, None, options.every):
            verdict, sheet = judge(analyser, family, face.embedding, frame, f"frame {frame.index} of {options.target}")
            print(f"frame {frame.index:5d}  {verdict}")
            verdicts.append(verdict)
            sheets.append(sheet)
    print(f"mean         {Verdict(*np.mean(verdicts, axis=0).tolist())}")
    if options.save:
        cv2.imwrite(str(options.save), np.concatenate(sheets, axis=1))


if __name__ == "__main__":
    main()
