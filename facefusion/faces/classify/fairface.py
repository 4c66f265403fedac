"""FairFace: group, gender and age of a face.

K. Karkkainen, J. Joo, "FairFace: Face Attribute Dataset for Balanced Race, Gender, and Age for Bias Measurement and
Mitigation", WACV 2021. The graph chooses the classes itself.
"""

from __future__ import annotations

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.graph import WRONG_FILE, FittedGraph, Shape, TypedGraph
from facefusion.core.values import FaceTraits, Landmarks5, Picture, Size
from facefusion.faces.normalisation import IMAGENET
from facefusion.vision.geometry import fit_template

INPUT_SIDE = 224
TEMPLATE = "arcface_112_v2"

RACES = ("white", "black", "latino", "asian", "asian", "indian", "arabic")
"""By class: white, Black, Latino_Hispanic, East Asian, Southeast Asian, Indian and Middle Eastern of the paper."""
GENDERS = ("male", "female")
AGES = ((0, 3), (3, 10), (10, 20), (20, 30), (30, 40), (40, 50), (50, 60), (60, 70), (70, 101))
"""By class; first year and the one behind the last. The last class is open; nobody can ask for an age above 100."""


class FairFace:
    """Runs the graph ``input`` (1, 3, 224, 224) RGB, normalised -> class numbers of group, gender and age.

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._name = card.name
        self._side = int(card.number("input_size", INPUT_SIDE))
        shape: Shape = (1, 3, self._side, self._side)
        self._graph = FittedGraph(card.name, graph, {"input": shape}, [None, None, None])

    def classify(self, picture: Picture, points: Landmarks5) -> FaceTraits:
        """See :class:`~facefusion.faces.classify.base.FaceClassifier`."""
        crop = picture.warp(fit_template(points, TEMPLATE, self._side), Size(self._side, self._side))
        outputs = self._graph.run({"input": IMAGENET.encode(crop[None])})[:3]
        if any(output.size != 1 for output in outputs):
            found = ", ".join(str(output.size) for output in outputs)
            raise ModelError(
                f"{self._name}: the graph does not fit its family: expected the number of a class in each output, "
                f"found {found} numbers",
                WRONG_FILE,
            )
        race, gender, age = (int(output.item()) for output in outputs)
        return FaceTraits(
            gender=GENDERS[gender == 1],
            age=AGES[age] if 0 <= age < len(AGES) else AGES[-1],
            race=RACES[race] if 0 <= race < len(RACES) else RACES[0],
        )
