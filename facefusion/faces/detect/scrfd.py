"""RetinaFace and SCRFD as InsightFace exports them: detectors of faces and five points with anchors on three grids.

J. Deng et al., "RetinaFace: Single-shot Multi-level Face Localisation in the Wild", CVPR 2020; J. Guo et al., "Sample
and Computation Redistribution for Efficient Face Detection", ICLR 2022. Both graphs give the scores of all grids, then
boxes, then points.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.graph import WRONG_FILE, FittedGraph, Shape, TypedGraph
from facefusion.core.values import Size, Tensor
from facefusion.faces.detect.base import Detections, ScoreScale, checked, joined
from facefusion.faces.detect.letterbox import Letterbox

STRIDES = (8, 16, 32)
WIDTHS = (1, 4, 10)
"""Numbers that an anchor has of each kind of output: its score, the edges of the box, five points."""
OVERLAP_LIMIT = 0.4
"""Two boxes that overlap by more than this (intersection over union) are one face."""
MEAN, DEVIATION = 127.5, 128.0


class Scrfd:
    """Runs the graph ``input`` (1, 3, H, W) BGR, about -1..1 -> nine outputs; H and W are multiples of 32.

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self.scores = ScoreScale.of(card)
        self._name = card.name
        self._graph = FittedGraph(card.name, graph, {"input": (1, 3, None, None)}, _output_shapes(graph))
        shape = self._graph.signature.inputs["input"].shape
        mean, deviation = card.number("mean", MEAN), card.number("deviation", DEVIATION)
        self._letterbox = Letterbox(shape, STRIDES[-1], mean, deviation)
        self._overlap_limit = card.number("overlap_limit", OVERLAP_LIMIT)

    def detect(self, image: npt.NDArray[np.uint8], minimum_score: float) -> Detections:
        """See :class:`~facefusion.faces.detect.base.FaceDetector`."""
        return self.candidates(image, minimum_score).apart(self._overlap_limit)

    def candidates(self, image: npt.NDArray[np.uint8], minimum_score: float) -> Detections:
        """See :class:`~facefusion.faces.detect.base.CandidateDetector`."""
        letter = self._letterbox.fit(image)
        size = Size(letter.tensor.shape[3], letter.tensor.shape[2])
        try:
            found = decode(self._graph.run({"input": letter.tensor}), size, minimum_score)
        except ValueError as error:
            raise ModelError(
                f"{self._name}: the graph does not fit its family: {error}",
                WRONG_FILE,
            ) from error
        return letter.restore(checked(self._name, found))


def _output_shapes(graph: TypedGraph) -> list[Shape]:
    """Rows of one, four and ten numbers, with a batch dimension before them in some exports."""
    ranks = [len(value.shape) for value in graph.signature.outputs.values()]
    leading = (None,) * (max(ranks, default=2) - 1)
    return [(*leading, width) for width in WIDTHS for _ in STRIDES]


def decode(outputs: Sequence[Tensor], size: Size, minimum_score: float) -> Detections:
    """All candidates at or above the score, overlapping ones too, in input pixels.

    Distances are in strides: of the box's edges from the anchor, outwards, and of the points from it.

    Args:
        outputs: for the strides in turn the scores, then the distances of left, top, right and bottom edge, then those
            of the points. Cells row by row, all anchors of a cell in succession.
        size: of the input.
        minimum_score: 0..1.

    Raises:
        ValueError: an output's length does not fit its grid.
    """
    scores, edges, points = (outputs[first : first + len(STRIDES)] for first in range(0, 9, len(STRIDES)))
    grids = zip(STRIDES, scores, edges, points, strict=True)
    return joined([_decode_grid(*grid, size, minimum_score) for grid in grids])


def _decode_grid(
    stride: int, scores: Tensor, edges: Tensor, points: Tensor, size: Size, minimum_score: float
) -> Detections:
    columns, rows = size.width // stride, size.height // stride
    scores, edges, points = scores.reshape(-1), edges.reshape(-1, 4), points.reshape(-1, 5, 2)
    anchors, rest = divmod(len(scores), columns * rows)
    if rest or not anchors or not len(scores) == len(edges) == len(points):
        raise ValueError(f"{len(scores)} scores for a grid of {columns} x {rows} cells of stride {stride}")
    kept = np.flatnonzero(scores >= minimum_score)
    cells = kept // anchors
    middles = np.stack((cells % columns, cells // columns), axis=1).astype(np.float32) * stride
    distances = edges[kept] * stride
    boxes = np.concatenate((middles - distances[:, :2], middles + distances[:, 2:]), axis=1)
    return Detections(boxes, scores[kept], middles[:, None] + points[kept] * stride)
