"""What the catalogue knows about one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ModelCard:
    """One entry of the catalogue."""

    name: str
    """Unique; what users type."""
    kind: str
    """What it is for: ``face_detector``, ``face_landmarker``, ``face_recognizer``, ``face_swapper`` and so on."""
    family: str
    """Which code runs it; the name of a family in the package that owns ``kind``."""
    licence: str
    vendor: str
    year: int
    origin: str
    """Where it comes from, for people."""
    file: str | None
    """Name of the graph in the model store; none for a model that is code only."""
    embedded: bool = False
    """True where pip alone can bring it."""
    numbers: Mapping[str, float | int | str | tuple[float, ...]] = field(default_factory=dict)
    """What the family needs to know by number: input size, mean, scale, thresholds."""
