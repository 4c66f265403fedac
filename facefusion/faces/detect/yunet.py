"""YuNet: an anchor-free detector of faces and five points on each.

W. Wu, H. Peng, S. Yu, "YuNet: A Tiny Millisecond-level Face Detector", Machine Intelligence Research 20, 2023. For each
cell of three grids the graph gives a class and an objectness probability, a box and five points.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import FittedGraph, TypedGraph
from facefusion.core.values import Tensor
from facefusion.faces.detect.base import Detections, ScoreScale, checked, joined
from facefusion.faces.detect.letterbox import Letterbox

STRIDES = (8, 16, 32)
WIDTHS = {"cls": 1, "obj": 1, "bbox": 4, "kps": 10}
"""Numbers that a cell has of each kind of output."""
OUTPUTS = {f"{kind}_{stride}": (1, None, width) for kind, width in WIDTHS.items() for stride in STRIDES}
"""Names and shapes of the outputs, in the order in which graphs that name them otherwise give them."""
OVERLAP_LIMIT = 0.3
"""Two boxes that overlap by more than this (intersection over union) are one face."""


class YuNet:
    """Runs the graph ``input`` (1, 3, H, W) BGR 0..255 -> ``cls_8`` .. ``kps_32``; H and W are multiples of 32.

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self.scores = ScoreScale.of(card)
        self._name = card.name
        names = tuple(graph.signature.outputs)
        self._names = names if OUTPUTS.keys() <= set(names) else tuple(OUTPUTS)
        shapes = [OUTPUTS.get(name) for name in self._names]
        self._graph = FittedGraph(card.name, graph, {"input": (1, 3, None, None)}, shapes)
        self._letterbox = Letterbox(self._graph.signature.inputs["input"].shape, STRIDES[-1])
        self._overlap_limit = card.number("overlap_limit", OVERLAP_LIMIT)

    def detect(self, image: npt.NDArray[np.uint8], minimum_score: float) -> Detections:
        """See :class:`~facefusion.faces.detect.base.FaceDetector`."""
        return self.candidates(image, minimum_score).apart(self._overlap_limit)

    def candidates(self, image: npt.NDArray[np.uint8], minimum_score: float) -> Detections:
        """See :class:`~facefusion.faces.detect.base.CandidateDetector`."""
        letter = self._letterbox.fit(image)
        outputs = dict(zip(self._names, self._graph.run({"input": letter.tensor}), strict=False))
        return letter.restore(checked(self._name, decode(outputs, letter.tensor.shape[3], minimum_score)))


def decode(outputs: Mapping[str, Tensor], width: int, minimum_score: float) -> Detections:
    """All candidates at or above the score, overlapping ones too, in input pixels.

    The score is the geometric mean of class and objectness. Offsets are in strides from the cell's corner; width and
    height are given as logarithms.

    Args:
        outputs: for each stride s, ``cls_s`` and ``obj_s`` (1, n, 1), ``bbox_s`` (1, n, 4), ``kps_s`` (1, n, 10), cells
            row by row.
        width: of the input, in pixels.
        minimum_score: 0..1.
    """
    parts = [_decode_grid(outputs, stride, width // stride, minimum_score) for stride in STRIDES]
    return joined(parts)


def _decode_grid(outputs: Mapping[str, Tensor], stride: int, columns: int, minimum_score: float) -> Detections:
    likelihood = outputs[f"cls_{stride}"][0, :, 0] * outputs[f"obj_{stride}"][0, :, 0]
    cells = np.flatnonzero(likelihood >= minimum_score * minimum_score)
    corners = np.stack((cells % columns, cells // columns), axis=1).astype(np.float32)
    offsets = outputs[f"bbox_{stride}"][0, cells]
    middles = (corners + offsets[:, :2]) * stride
    halves = np.exp(offsets[:, 2:]) * (stride / 2)
    points = (outputs[f"kps_{stride}"][0, cells].reshape(-1, 5, 2) + corners[:, None]) * stride
    scores = np.sqrt(np.clip(likelihood[cells], 0.0, 1.0))
    return Detections(np.concatenate((middles - halves, middles + halves), axis=1), scores, points)
