"""Stand-ins for what a processor is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.graph import GraphSignature, GraphValue
from facefusion.core.values import Face, Landmarks478, Picture, Tensor
from facefusion.observability.events import Event
from facefusion.processors.base import Processor, Scene


class RecordingSink:
    """Keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)


class NearestEnlarger:
    """A network that repeats pixels ``scale`` times after cutting ``consumed`` pixels off each side.

    It takes ``batch`` pictures at once, any number where none.
    """

    signature = GraphSignature(
        *({name: GraphValue((1, 3, None, None), np.dtype(np.float32))} for name in ("input", "output"))
    )

    def __init__(self, scale: int, consumed: int, batch: int | None = 1) -> None:
        if batch is None:
            value = GraphValue((None, 3, None, None), np.dtype(np.float32))
            self.signature = GraphSignature({"input": value}, {"output": value})
        self._scale = scale
        self._consumed = consumed
        self.shapes: list[tuple[int, ...]] = []

    def run(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        tensor = inputs["input"]
        self.shapes.append(tensor.shape)
        cut = self._consumed
        inner = tensor[:, :, cut : tensor.shape[2] - cut, cut : tensor.shape[3] - cut]
        return {"output": inner.repeat(self._scale, axis=2).repeat(self._scale, axis=3)}


def processed(processor: Processor, picture: Picture, faces: Sequence[Face], observation: object = None) -> Picture:
    """What a processor makes of one picture."""
    (result,) = processor.process([Scene(picture, faces, observation)])
    return result


def enlarger_card(scale: int, consumed: int, margin: int, tile: int) -> ModelCard:
    return ModelCard(
        name="toy",
        kind="frame_enhancer",
        family="super_resolution",
        licence="none",
        vendor="none",
        year=2026,
        origin="made here",
        file="toy.onnx",
        numbers={"scale": scale, "consumed": consumed, "margin": margin, "tile": tile},
    )


def noise(height: int, width: int, seed: int = 0) -> npt.NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def oval_face(x: float, y: float, radius: float) -> Face:
    """A face whose mesh points lie on an ellipse around ``(x, y)``, eyes level."""
    angles = np.linspace(0, 2 * np.pi, 478, endpoint=False)
    mesh: Landmarks478 = np.stack(
        (x + radius * np.cos(angles), y + 1.2 * radius * np.sin(angles), np.zeros(478)), axis=1
    ).astype(np.float32)
    five = np.array(((-0.4, -0.3), (0.4, -0.3), (0.0, 0.1), (-0.3, 0.5), (0.3, 0.5)), np.float32) * radius
    box = np.array((x - radius, y - 1.2 * radius, x + radius, y + 1.2 * radius), np.float32)
    return Face(box=box, score=0.9, landmarks5=five + np.array((x, y), np.float32), mesh=mesh, presence=0.99)
