"""The families of what is behind masks, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from facefusion.catalogue.card import ModelCard
from facefusion.catalogue.families import family_of
from facefusion.faces.bench import Bench
from facefusion.faces.hands.families import build_finder
from facefusion.faces.mask.base import FaceOccluder, FaceParser
from facefusion.faces.mask.bisenet import BiSeNet
from facefusion.faces.mask.many import ManyOccluders
from facefusion.faces.mask.mesh import MeshOccluder
from facefusion.faces.mask.regions import MeshParser
from facefusion.faces.mask.xseg import XSeg


def build_occluder(card: ModelCard, bench: Bench) -> FaceOccluder:
    """The occluder of an entry.

    Raises:
        ModelError: its family is not known, or its graph does not fit that.
    """
    return family_of(card, FACE_OCCLUDERS)(card, bench)


def build_parser(card: ModelCard, bench: Bench) -> FaceParser:
    """The parser of an entry.

    Raises:
        ModelError: its family is not known, or its graph does not fit that.
    """
    return family_of(card, FACE_PARSERS)(card, bench)


def _mesh(card: ModelCard, bench: Bench) -> MeshOccluder:
    detector, landmarker = bench.beside(card)
    return MeshOccluder(build_finder(detector, landmarker, bench))


FACE_OCCLUDERS: Mapping[str, Callable[[ModelCard, Bench], FaceOccluder]] = {
    "many": lambda card, bench: ManyOccluders([build_occluder(one, bench) for one in bench.beside(card)]),
    "mesh": _mesh,
    "xseg": lambda card, bench: XSeg(card, bench.runner(card)),
}

FACE_PARSERS: Mapping[str, Callable[[ModelCard, Bench], FaceParser]] = {
    "bisenet": lambda card, bench: BiSeNet(card, bench.runner(card)),
    "mesh": lambda _card, _bench: MeshParser(),
}
