"""Lightness and chromaticity: CIE Lab with its colour plane freed from lightness.

a' = a * 60 / (L + 10), b' likewise. A surface in the shade keeps its a' and b', so light can be changed by changing L
alone: dimming does not make skin look redder, as it does in plain Lab, and noise is not amplified, as it is by ratios
of R, G and B.
"""

from __future__ import annotations

from typing import cast

import cv2
import numpy as np

from facefusion.core.values import Pixels
from facefusion.vision.filters import Map

SHOULDER = 86.0
"""Lightness from which on highlights are compressed, so that a lifted one does not clip."""


def to_lab(pixels: Pixels) -> Map:
    """BGR 0 .. 255 to Lab: L 0 .. 100."""
    scaled = pixels * np.float32(1 / 255)
    return cast("Map", cv2.cvtColor(np.clip(scaled, 0, 1, out=scaled), cv2.COLOR_BGR2LAB))


def to_tone(pixels: Pixels) -> Map:
    """BGR 0 .. 255 to (L, a', b')."""
    return lab_to_tone(to_lab(pixels))


def lab_to_tone(lab: Map) -> Map:
    """Lab to (L, a', b')."""
    tone = lab.copy()
    scale = np.float32(60) / (lab[..., 0] + np.float32(10))
    tone[..., 1] *= scale
    tone[..., 2] *= scale
    return tone


def to_pixels(tone: Map) -> Map:
    """(L, a', b') to BGR 0 .. 1, highlights compressed."""
    lightness, red, yellow = cv2.split(tone)
    if float(lightness.max(initial=0)) > SHOULDER:
        room = np.float32(100 - SHOULDER)
        bent = np.float32(SHOULDER) + room * np.tanh((lightness - np.float32(SHOULDER)) / room)
        np.copyto(lightness, bent, where=lightness > SHOULDER)
    np.maximum(lightness, 0, out=lightness)
    scale = (lightness + np.float32(10)) * np.float32(1 / 60)
    lab = cv2.merge((lightness, red * scale, yellow * scale))
    return cast("Map", cv2.cvtColor(lab, cv2.COLOR_LAB2BGR))
