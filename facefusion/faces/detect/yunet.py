"""YuNet: an anchor-free detector of faces and five points on each.

W. Wu, H. Peng, S. Yu, "YuNet: A Tiny Millisecond-level Face Detector", Machine Intelligence Research 20, 2023. For each
cell of three grids the graph gives a class and an objectness probability, a box and five points.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import GraphRunner
from facefusion.core.values import Tensor
from facefusion.faces.detect.base import Detections
from facefusion.memory.buffers import ThreadBuffers
from facefusion.vision.boxes import suppress_overlaps

STRIDES = (8, 16, 32)
OVERLAP_LIMIT = 0.3
"""Two boxes that overlap by more than this (intersection over union) are one face."""


class YuNet:
    """Runs the graph ``input`` (1, 3, H, W) BGR 0..255 -> ``cls_8`` .. ``kps_32``; H and W are multiples of 32."""

    def __init__(self, card: ModelCard, graph: GraphRunner) -> None:
        self._graph = graph
        self._buffers = ThreadBuffers()
        self._overlap_limit = card.number("overlap_limit", OVERLAP_LIMIT)

    def detect(self, image: npt.NDArray[np.uint8], minimum_score: float) -> Detections:
        """See :class:`~facefusion.faces.detect.base.FaceDetector`."""
        tensor = to_tensor(image, self._buffers)
        found = decode(self._graph.run({"input": tensor}), tensor.shape[3], minimum_score)
        return found.take(suppress_overlaps(found.boxes, found.scores, self._overlap_limit))


def to_tensor(image: npt.NDArray[np.uint8], buffers: ThreadBuffers) -> Tensor:
    """The picture at the top left of a black canvas whose sides are the next multiples of the coarsest stride.

    The tensor is one of ``buffers``.
    """
    height, width = image.shape[:2]
    step = STRIDES[-1]
    tensor = buffers.take((1, 3, -(-height // step) * step, -(-width // step) * step), np.float32)
    tensor[0, :, height:] = 0
    tensor[0, :, :height, width:] = 0
    tensor[0, :, :height, :width] = image.transpose(2, 0, 1)
    return tensor


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
    return Detections(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


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
