"""What a classifier of faces is."""

from __future__ import annotations

from typing import Protocol

from facefusion.core.values import FaceTraits, Landmarks5, Picture


class FaceClassifier(Protocol):
    """Tells traits of people by their looks. Thread-safe as long as the picture is."""

    def classify(self, picture: Picture, points: Landmarks5) -> FaceTraits:
        """What the face at ``points`` (middles of the eyes, nose tip, corners of the mouth) looks like."""
