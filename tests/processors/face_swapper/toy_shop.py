"""Swappers built of toy graphs that the real engine runs, and all that those graphs were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from facefusion.catalogue.card import ModelCard
from facefusion.core.values import Face, Picture, Size, Tensor
from facefusion.faces.mask.masker import PLAIN, FaceMasker
from facefusion.processors.base import Processor, Source, Target, Workshop
from facefusion.processors.face_swapper.processor import KIND, FaceSwapper
from facefusion.processors.face_swapper.settings import FaceSwapperSettings
from facefusion.vision.picture import BgrPicture
from tests.processors.fakes import RecordingSink, processed
from tests.toys.heard import Heard
from tests.toys.pooled import Toys
from tests.toys.scenes import face, smooth
from tests.toys.swappers import colour_swapper, identity_converter, recogniser

RANDOM = np.random.default_rng(11)
MATRIX = (RANDOM.normal(size=(512, 512)) / 16).astype(np.float32)
CONVERSION = (RANDOM.normal(size=(512, 512)) / 16).astype(np.float32)
WEIGHTS = RANDOM.normal(size=(3, 512)).astype(np.float32)
BIAS = RANDOM.normal(size=512).astype(np.float32)

HALVES = {"mean": (0.5, 0.5, 0.5), "deviation": (0.5, 0.5, 0.5)}
IMAGENET = {"mean": (0.485, 0.456, 0.406), "deviation": (0.229, 0.224, 0.225)}

FAMILIES: Mapping[str, tuple[str, Mapping[str, Any], tuple[int, ...]]] = {
    "blendswap": ("ffhq_512", {}, (3, 112, 112)),
    "ghost": ("arcface_112_v1", HALVES, (512,)),
    "hififace": ("mtcnn_512", HALVES, (512,)),
    "hyperswap": ("arcface_128", HALVES, (512,)),
    "inswapper": ("arcface_128", {}, (512,)),
    "simswap": ("arcface_112_v1", IMAGENET, (512,)),
    "uniface": ("ffhq_512", HALVES, (3, 256, 256)),
}
"""Template, coding and shape of the source of each family of networks, as its models have them."""
CONVERTED = ("ghost", "hififace", "simswap")


def card(name: str, kind: str, family: str, companions: Sequence[str] = (), **numbers: Any) -> ModelCard:
    return ModelCard(
        name=name,
        kind=kind,
        family=family,
        licence="none",
        vendor="none",
        year=2026,
        origin="made here",
        file=f"{name}.onnx",
        numbers=numbers,
        companions=tuple(companions),
    )


class ToyShop:
    """Builds the swapper of a family around a toy graph.

    Args:
        folder: for files.
        family: its name.
        size: of the network.
        graph: of the swapper; one that gives back what it is given where none.
        toy: arguments of that one.
    """

    def __init__(self, folder: Path, family: str, size: int = 128, graph: onnx.ModelProto | None = None, **toy: Any):
        template, coding, source = FAMILIES[family]
        companions = [] if len(source) > 1 else ["eye"]
        self.card = card("toy", "face_swapper", family, companions, input_size=size, template=template, **coding)
        likeness: dict[str, Any] = {"same_likeness": 0.3, "certain_likeness": 0.5, "strangers_likeness": 0.2}
        self.companions = {"eye": card("eye", "face_recognizer", "arcface", input_size=112, **likeness)}
        if family in CONVERTED:
            companions.append("cross")
            self.card = card("toy", "face_swapper", family, companions, input_size=size, template=template, **coding)
            self.companions["cross"] = card("cross", "identity_converter", "crossface")
        if family == "simswap":
            # It takes one coding and gives another.
            toy = {"gain": IMAGENET["deviation"], "offset": IMAGENET["mean"], **toy}
        if graph is None:
            matrix = MATRIX if family == "inswapper" else None
            graph = colour_swapper(source, size, matrix=matrix, mask=family == "hyperswap", **toy)
        self._toys = Toys(folder)
        eye = recogniser(WEIGHTS, BIAS, toy.get("batch", 1))
        self._models = {"toy": graph, "eye": eye, "cross": identity_converter(CONVERSION)}
        self._graphs: dict[str, Heard] = {}

    def __enter__(self) -> ToyShop:
        return self

    def __exit__(self, *_: object) -> None:
        self._toys.__exit__(None, None, None)

    def graph(self, model: ModelCard) -> Heard:
        if model.name not in self._graphs:
            self._graphs[model.name] = Heard(self._toys.run(self._models[model.name]))
        return self._graphs[model.name]

    def given(self, model: str) -> list[dict[str, Tensor]]:
        """What the graph of a model was given, run by run."""
        return self._graphs[model].inputs if model in self._graphs else []

    def swapper(self, *sources: Source, **options: Any) -> FaceSwapper:
        """The swapper, with its sources prepared; see :meth:`workshop`."""
        return KIND.build(self.workshop(*sources, **options))  # type: ignore[return-value]

    def workshop(
        self, *sources: Source, weight: float = 0.5, boost: str | None = None, masker: FaceMasker = PLAIN
    ) -> Workshop:
        """What the swapper is built from."""
        return Workshop(
            settings=FaceSwapperSettings(face_swapper_pixel_boost=boost, face_swapper_weight=weight),
            cards={"face_swapper": self.card},
            runner=self.graph,
            companions=self.companions,
            sources=sources or (source(),),
            target=Target(Size(320, 240), 0.0, is_video=False),
            events=RecordingSink(),
            masker=masker,
        )


def swap(swapper: Processor, picture: Picture, faces: Sequence[Face]) -> None:
    """Let a swapper work on a picture as the pipeline does."""
    processed(swapper, picture, faces, (None,) * len(faces))


def source(seed: int = 5, angle: float = 8.0) -> Source:
    pixels = np.rint(smooth(seed=seed)).astype(np.uint8)
    return Source(f"source{seed}.png", BgrPicture(pixels), face(150, 120, 110, angle))
