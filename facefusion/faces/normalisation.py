"""How the networks of the field count colours: what a crop becomes for them, and the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self, cast

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.catalogue.card import ModelCard
from facefusion.core.errors import ModelError
from facefusion.core.values import Pixels, Tensor

CHANNELS = 3
LEVELS = np.float32(255)


@dataclass(frozen=True, slots=True)
class Normalisation:
    """How a network counts colours: ``(x - mean) / deviation`` of red, green and blue, each 0..1."""

    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    deviation: tuple[float, ...] = (1.0, 1.0, 1.0)

    @classmethod
    def of(cls, card: ModelCard) -> Self:
        """As the entry says by its numbers ``mean`` and ``deviation``; plain 0..1 where it says nothing.

        Raises:
            ModelError: one of them is no three numbers.
        """
        plain = cls()
        return cls(_three(card, "mean", plain.mean), _three(card, "deviation", plain.deviation))

    def encode(self, parts: Pixels) -> Tensor:
        """From n x height x width x 3, BGR, 0..255 to n x 3 x height x width, red first."""
        if parts.dtype == np.uint8:
            return planes_by_table(cast("npt.NDArray[np.uint8]", parts), _tables(self), red_first=True)
        return self._normalised(np.ascontiguousarray(parts[..., ::-1].transpose(0, 3, 1, 2), np.float32))

    def decode(self, tensor: Tensor) -> npt.NDArray[np.float32]:
        """The way back, clipped to 0..255; fractions of a level are kept."""
        colours = tensor * (_per_channel(self.deviation) * LEVELS)
        colours += _per_channel(self.mean) * LEVELS
        np.clip(colours, 0.0, LEVELS, out=colours)
        parts = np.empty((len(colours), *colours.shape[2:], CHANNELS), np.float32)
        for part, (red, green, blue) in zip(parts, colours, strict=True):
            cv2.merge((blue, green, red), dst=part)  # three times as quick as a transposed copy
        return parts

    def _normalised(self, colours: npt.NDArray[np.float32]) -> Tensor:
        """Of n x 3 x height x width, red first, 0..255; written over them."""
        colours /= LEVELS
        colours -= _per_channel(self.mean)
        colours /= _per_channel(self.deviation)
        return colours

    def tables(self) -> Tensor:
        """3 x 256: what each level of red, green and blue becomes."""
        levels = np.broadcast_to(np.arange(256, dtype=np.float32), (1, CHANNELS, 1, 256))
        return self._normalised(levels.copy())[0, :, 0]


def planes_by_table(
    pictures: Sequence[npt.NDArray[np.uint8]] | npt.NDArray[np.uint8], tables: Tensor, *, red_first: bool
) -> Tensor:
    """Pictures as networks take them, by a table for each colour: twice as quick as sums, and the same numbers.

    Args:
        pictures: n of height x width x 3, BGR.
        tables: 3 x 256, in the order of the result's planes.
        red_first: whether red is the first of those; else blue.

    Returns:
        n x 3 x height x width.
    """
    height, width = pictures[0].shape[:2]
    planes = np.empty((len(pictures), CHANNELS, height, width), np.float32)
    for picture, colours in zip(pictures, planes, strict=True):
        channels = cv2.split(picture)
        for channel, table, plane in zip(channels[::-1] if red_first else channels, tables, colours, strict=True):
            cv2.LUT(channel, table, dst=plane)
    return planes


@lru_cache(maxsize=16)
def _tables(normalisation: Normalisation) -> Tensor:
    return normalisation.tables()


PLAIN = Normalisation()
HALVES = Normalisation((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
"""-1..1."""
IMAGENET = Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
"""Mean and deviation of the pictures of ImageNet."""


def _three(card: ModelCard, name: str, default: tuple[float, ...]) -> tuple[float, ...]:
    value = card.numbers.get(name, default)
    if isinstance(value, tuple) and len(value) == CHANNELS:
        return value
    raise ModelError(f"Model {card.name}: {name} is {value!r} in the catalogue", "It must be three numbers.")


def _per_channel(values: tuple[float, ...]) -> npt.NDArray[np.float32]:
    return np.array(values, np.float32)[:, None, None]
