"""YOLO-face: the YOLOv8 detector trained on faces with five points each.

G. Jocher, A. Chaurasia, J. Qiu, "Ultralytics YOLOv8", 2023; face weights of derronqi/yolov8-face, 2022. The graph does
the decoding of its grids itself and gives pixels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import FittedGraph, TypedGraph
from facefusion.core.values import Tensor
from facefusion.faces.detect.base import Detections, ScoreScale, checked
from facefusion.faces.detect.letterbox import Letterbox

STEP = 32
"""The coarsest stride: sides of the input are multiples of it."""
OVERLAP_LIMIT = 0.4
"""Two boxes that overlap by more than this (intersection over union) are one face."""
WIDTH = 20
"""Numbers a candidate has: middle, size, score, and place and visibility of five points."""


class YoloFace:
    """Runs the graph ``input`` (1, 3, H, W) BGR 0..1 -> (1, 20, n); H and W are multiples of 32.

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self.scores = ScoreScale.of(card)
        self._name = card.name
        self._graph = FittedGraph(card.name, graph, {"input": (1, 3, None, None)}, [(1, WIDTH, None)])
        self._letterbox = Letterbox(self._graph.signature.inputs["input"].shape, STEP, deviation=255.0)
        self._overlap_limit = card.number("overlap_limit", OVERLAP_LIMIT)

    def detect(self, image: npt.NDArray[np.uint8], minimum_score: float) -> Detections:
        """See :class:`~facefusion.faces.detect.base.FaceDetector`; the score itself is not enough."""
        return self.candidates(image, minimum_score).apart(self._overlap_limit)

    def candidates(self, image: npt.NDArray[np.uint8], minimum_score: float) -> Detections:
        """See :class:`~facefusion.faces.detect.base.CandidateDetector`."""
        letter = self._letterbox.fit(image)
        found = decode(self._graph.run({"input": letter.tensor})[0], minimum_score)
        return letter.restore(checked(self._name, found))


def decode(output: Tensor, minimum_score: float) -> Detections:
    """All candidates above the score, overlapping ones too, in input pixels.

    Args:
        output: (1, 20, n): x and y of the middle, width, height, score, then x, y and visibility of five points.
        minimum_score: 0..1; a candidate must have more.
    """
    rows = output[0].T
    rows = rows[rows[:, 4] > minimum_score]
    middles, halves = rows[:, :2], rows[:, 2:4] / 2
    boxes = np.concatenate((middles - halves, middles + halves), axis=1)
    return Detections(boxes, rows[:, 4], rows[:, 5:].reshape(-1, 5, 3)[..., :2])
