"""The MediaPipe face mesh with attention: 478 points in space and a presence.

I. Grishchenko et al., "Attention Mesh: High-fidelity Face Mesh Prediction in Real-time", 2020.
"""

from __future__ import annotations

import cv2
import numpy as np

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import FittedGraph, TypedGraph
from facefusion.core.values import Picture, Size
from facefusion.faces.landmark.base import MeshReading, check_face
from facefusion.faces.landmark.points import sixty_eight_points
from facefusion.memory.buffers import ThreadBuffers
from facefusion.vision.geometry import SquareRegion, invert, transform_mesh

INPUT_SIDE = 192
HALF_PIXEL = np.array((0.5, 0.5, 0.0), np.float32)


class FaceMesh:
    """Runs the graph ``input`` (1, 192, 192, 3) RGB 0..1 -> landmarks (1, 478, 3), presence (1, 1).

    Raises:
        ModelError: the graph is another.
    """

    def __init__(self, card: ModelCard, graph: TypedGraph) -> None:
        self._name = card.name
        self._side = int(card.number("input_size", INPUT_SIDE))
        self._graph = FittedGraph(card.name, graph, {"input": (1, self._side, self._side, 3)}, [(1, 478, 3), (1, 1)])
        self._buffers = ThreadBuffers()

    def read(self, picture: Picture, region: SquareRegion) -> MeshReading:
        """See :class:`~facefusion.faces.landmark.base.FaceLandmarker`."""
        frame_to_crop = region.to_crop(self._side)
        crop = picture.warp(frame_to_crop, Size(self._side, self._side))
        tensor = self._buffers.take((1, self._side, self._side, 3), np.float32)
        np.multiply(cv2.cvtColor(crop, cv2.COLOR_BGR2RGB), np.float32(1 / 255), out=tensor[0])
        landmarks, presence = self._graph.run({"input": tensor})[:2]
        # The network counts from the crop's edge: the middle of the first pixel is at 0.5.
        mesh = transform_mesh(invert(frame_to_crop), landmarks[0] - HALF_PIXEL)
        check_face(self._name, sixty_eight_points(mesh), mesh)
        return MeshReading(mesh, float(presence[0, 0]), crop, frame_to_crop)
