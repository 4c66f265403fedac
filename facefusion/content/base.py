"""What a content model is."""

from __future__ import annotations

from typing import Protocol

from facefusion.core.values import Picture


class ContentModel(Protocol):
    """Judges one picture. Thread-safe as long as the picture is."""

    def score(self, picture: Picture) -> float:
        """How likely the picture shows sexual content, 0..1."""
