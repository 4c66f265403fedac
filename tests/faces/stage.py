"""A stage of drawn faces, and graphs that see them: all but the networks is the real thing.

A face is a square of one of six colours with darker eyes and mouth. The colour is the identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import cv2
import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.catalogue import Catalogue
from facefusion.core.graph import GraphSignature, GraphValue
from facefusion.core.values import Frame, Pixels
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.detect.yunet import OUTPUTS, YuNet
from facefusion.faces.landmark.mesh import FaceMesh
from facefusion.faces.landmark.points import FIVE
from facefusion.faces.recognise.sface import SFace
from tests.faces.fakes import ArrayPicture

FIVE_PLACES = np.array(((-0.2, -0.2), (0.2, -0.2), (0.0, 0.05), (-0.18, 0.28), (0.18, 0.28)), np.float32)
"""Where the five points of a drawn face lie, in sides from its middle."""


def card(family: str) -> ModelCard:
    """Of a model like the catalogue's first one of that family."""
    numbers = next((one.numbers for one in Catalogue.load().cards() if one.family == family), {})
    return ModelCard(family, "test", family, "", "", 2026, "", None, numbers=numbers)


def canonical_mesh():
    generator = np.random.default_rng(7)
    mesh = np.zeros((478, 3), np.float32)
    mesh[:, :2] = generator.uniform(-0.5, 0.5, (478, 2))
    mesh[:4, :2] = (-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)
    mesh[[33, 263], :2] = (-0.3, -0.2), (0.3, -0.2)
    mesh[[10, 11], :2] = (-0.5, 0.5), (0.5, 0.5)
    mesh[FIVE, :2] = FIVE_PLACES
    mesh[:, 2] = 0.1
    return mesh


CANONICAL = canonical_mesh()


@dataclass
class Actor:
    """A face at a place. ``colour`` is 1 to 6; bits are the blue, green and red channel."""

    colour: int
    x: float
    y: float
    side: float = 60.0


def scenery(seed: int, width: int = 320, height: int = 240) -> Pixels:
    """A backdrop; grey, as nobody's face is."""
    coarse = np.random.default_rng(seed).integers(20, 200, (5, 7)).astype(np.uint8)
    grey = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.repeat(grey[..., None], 3, axis=2).astype(np.uint8)


def draw(actors: Iterable[Actor], width: int = 320, height: int = 240, backdrop: Pixels | None = None) -> ArrayPicture:
    """Later actors stand in front of earlier ones, all before a backdrop or black."""
    pixels = np.zeros((height, width, 3), np.uint8) if backdrop is None else backdrop.copy()
    for actor in actors:
        light = np.array([actor.colour >> bit & 1 for bit in range(3)], float)
        side = 8 * 12
        face = np.full((side, side), 160.0)
        face += np.linspace(0, 60, side)[:, None] * (1 if actor.colour % 2 else -1)
        face[24:36, 18:42] = face[24:36, 54:78] = 90
        face[70:78, 30:66] = 110
        scale = actor.side / side
        middle = (side - 1) / 2
        to_frame = np.array([[scale, 0, actor.x - scale * middle], [0, scale, actor.y - scale * middle]])
        inked = cv2.warpAffine((face[..., None] * light).astype(np.uint8), to_frame, (width, height))
        cover = cv2.warpAffine(np.full((side, side), 255, np.uint8), to_frame, (width, height))
        pixels[cover > 127] = inked[cover > 127]
    return ArrayPicture(pixels)


def blobs(image) -> list[tuple[int, float, float, float, float]]:
    """Colour, left, top, width and height of each colour in a BGR picture on the 0..255 scale; half hidden ones not."""
    peak = image.max(axis=2, keepdims=True)
    lit = (image > np.maximum(peak / 2, 40)).astype(np.uint8)
    codes = lit[..., 0] + 2 * lit[..., 1] + 4 * lit[..., 2]
    found = []
    for colour in range(1, 7):
        count, _, stats, _ = cv2.connectedComponentsWithStats((codes == colour).astype(np.uint8))
        for left, top, width, height, _ in stats[1:count].tolist():
            if min(width, height) > 0.75 * max(width, height) and min(width, height) >= 6:
                found.append((colour, left, top, width, height))
    return found


class DetectorGraph:
    def __init__(self) -> None:
        self.signature = GraphSignature(
            {"input": GraphValue((1, 3, None, None), np.dtype(np.float32))},
            {name: GraphValue(shape, np.dtype(np.float32)) for name, shape in OUTPUTS.items()},
        )
        self.runs = 0
        self.blind = False
        self.score = 0.95

    def run(self, inputs):
        self.runs += 1
        image = inputs["input"][0].transpose(1, 2, 0)
        height, width = image.shape[:2]
        outputs = {}
        for stride in (8, 16, 32):
            cells = (height // stride) * (width // stride)
            for name, size in (("cls", 1), ("obj", 1), ("bbox", 4), ("kps", 10)):
                outputs[f"{name}_{stride}"] = np.zeros((1, cells, size), np.float32)
        for _, left, top, wide, high in [] if self.blind else blobs(image):
            x, y = left + (wide - 1) / 2, top + (high - 1) / 2
            column, row = int(x // 8), int(y // 8)
            cell = row * (width // 8) + column
            outputs["cls_8"][0, cell] = outputs["obj_8"][0, cell] = self.score
            outputs["bbox_8"][0, cell] = (x / 8 - column, y / 8 - row, np.log(wide / 8), np.log(high / 8))
            points = np.array((x, y)) + FIVE_PLACES * (wide, high)
            outputs["kps_8"][0, cell] = (points / 8 - (column, row)).ravel()
        return outputs


class MeshGraph:
    signature = GraphSignature(
        {"input": GraphValue((1, 192, 192, 3), np.dtype(np.float32))},
        {
            "landmarks": GraphValue((1, 478, 3), np.dtype(np.float32)),
            "presence": GraphValue((1, 1), np.dtype(np.float32)),
        },
    )

    def __init__(self) -> None:
        self.runs = 0
        self.presence = 0.9999

    def run(self, inputs):
        self.runs += 1
        image = inputs["input"][0, ..., ::-1] * 255
        side = image.shape[0]
        best, nearest = None, 0.3 * side
        for _, left, top, wide, high in blobs(image):
            x, y = left + wide / 2, top + high / 2
            gap = np.hypot(x - side / 2, y - side / 2)
            if gap < nearest and 0.3 < wide / side < 0.95:
                best, nearest = (x, y, wide, high), gap
        if best is None:
            landmarks = np.float32(side / 2) * (CANONICAL + np.float32(1))
            return {"landmarks": landmarks[None], "presence": np.zeros((1, 1), np.float32)}
        x, y, wide, high = best
        landmarks = CANONICAL * (wide, high, wide) + (x, y, 0)
        return {"landmarks": landmarks[None].astype(np.float32), "presence": np.full((1, 1), self.presence, np.float32)}


class IdentityGraph:
    signature = GraphSignature(
        {"data": GraphValue((1, 3, 112, 112), np.dtype(np.float32))},
        {"fc1": GraphValue((1, 128), np.dtype(np.float32))},
    )

    def __init__(self) -> None:
        self.runs = 0
        self.resembling: dict[int, tuple[int, float]] = {}
        """By colour, whose identity it is seen near to, and at what cosine."""

    def run(self, inputs):
        self.runs += 1
        nose = inputs["data"][0, ::-1, 62:70, 50:62].mean(axis=(1, 2))
        colour = sum(1 << bit for bit in range(3) if nose[bit] > max(nose.max() / 2, 20))
        embedding = np.full((1, 128), 0.01, np.float32)
        embedding[0, colour] = 1.0
        if colour in self.resembling:
            other, cosine = self.resembling[colour]
            embedding[0, colour] = np.sqrt(1 - cosine**2)
            embedding[0, other] = cosine
        return {"fc1": embedding}


class Troupe:
    """An analyser over the drawn faces, with its graphs at hand for counting."""

    def __init__(self, recogniser: ModelCard | None = None) -> None:
        self.detector, self.mesh, self.identity = DetectorGraph(), MeshGraph(), IdentityGraph()
        search = FaceSearch(YuNet(card("yunet"), self.detector))
        mesh, identity = FaceMesh(card("mesh"), self.mesh), SFace(recogniser or card("sface"), self.identity)
        self.analyser = FaceAnalyser(search, mesh, identity)


def frames(scenes: Sequence[Sequence[Actor]], rate: int = 25) -> list[Frame]:
    """One frame per scene."""
    return [Frame(index, Fraction(index, rate), draw(scene)) for index, scene in enumerate(scenes)]


def colour_of(face) -> int:
    """Whose face a result claims to be."""
    return int(face.embedding.argmax())
