"""Pictures and faces that a test knows everything about."""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.core.values import Face
from facefusion.vision.geometry import FACE_TEMPLATES


def smooth(height: int = 240, width: int = 320, seed: int = 0) -> npt.NDArray[np.float32]:
    """A picture without detail finer than a dozen pixels, 20..235."""
    noise = np.random.default_rng(seed).normal(size=(height, width, 3)).astype(np.float32)
    soft = cv2.GaussianBlur(noise, (0, 0), 6)
    low, high = soft.min(), soft.max()
    return (20 + 215 * (soft - low) / (high - low)).astype(np.float32)


def face(x: float, y: float, side: float = 120.0, angle: float = 0.0, template: str = "arcface_128") -> Face:
    """A face that a crop of ``side`` frame pixels around ``(x, y)``, turned by ``angle`` degrees, shows upright."""
    turn = np.radians(angle)
    rotation = np.array(((np.cos(turn), -np.sin(turn)), (np.sin(turn), np.cos(turn))))
    points = ((FACE_TEMPLATES[template] - 0.5) * side) @ rotation.T + (x, y)
    box = np.array((x - side / 3, y - side / 3, x + side / 3, y + side / 3), np.float32)
    return Face(box=box, score=0.9, landmarks5=points.astype(np.float32))
