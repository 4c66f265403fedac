"""The named values that flow through the program.

Conventions that hold everywhere unless a name says otherwise:

* Points are ``(x, y)`` in pixels of the displayed frame, with pixel centres on whole numbers, so the middle of the
  top-left pixel is ``(0, 0)``.
* Colour is BGR on the 0..255 scale: ``uint8``, or ``float32`` where a deeper source keeps fractions of a level.
* An affine map is a 2x3 ``float64`` array; its name says from where to where.
* Arrays inside frozen values are shared and must not be written to.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Pixels: TypeAlias = npt.NDArray[np.uint8] | npt.NDArray[np.float32]
"""Height x width x 3, BGR, 0..255; ``uint8``, or ``float32`` with fractions of a level."""

Mask: TypeAlias = npt.NDArray[np.float32]
"""Height x width, 0 (keep what is there) .. 1 (take the new)."""

Affine: TypeAlias = npt.NDArray[np.float64]
"""2x3 matrix of an affine map."""

Box: TypeAlias = npt.NDArray[np.float32]
"""Shape (4,): left, top, right, bottom in frame pixels."""

Landmarks5: TypeAlias = npt.NDArray[np.float32]
"""Shape (5, 2): eye on the image's left, eye on its right, nose tip, mouth corner left, mouth corner right."""

Landmarks68: TypeAlias = npt.NDArray[np.float32]
"""Shape (68, 2): the points of the iBUG 300-W scheme, in its order."""

Landmarks478: TypeAlias = npt.NDArray[np.float32]
"""Shape (478, 3): MediaPipe face mesh (468) and irises (10). z has the scale of x and y; smaller is nearer."""

Embedding: TypeAlias = npt.NDArray[np.float32]
"""Shape (n,), unit length: the identity of a face as a recogniser sees it."""

Tensor: TypeAlias = npt.NDArray[np.float32]
"""An array as a graph takes or gives it. Lives inside a model family only."""


class Size(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int

    @property
    def is_large(self) -> bool:
        """Whether that is more than 1080p, with the rows that codecs pad it to."""
        return self.width * self.height > 1920 * 1088


class Region(NamedTuple):
    """A rectangle of whole pixels; ``right`` and ``bottom`` are exclusive."""

    left: int
    top: int
    right: int
    bottom: int


class Picture(Protocol):
    """A picture in its own pixel format, which hands out and takes back parts of itself in BGR.

    What no caller pastes into stays bit-identical to what the decoder gave. One thread at a time.
    """

    @property
    def size(self) -> Size:
        """Displayed size, after rotation."""

    @property
    def bit_depth(self) -> int:
        """Bits per component, 8 to 16. Above 8, reads can be asked for as ``float32`` to keep the fractions."""

    def warp(self, frame_to_crop: Affine, size: Size, *, as_float: bool = False) -> Pixels:
        """Sample a crop through ``frame_to_crop``; area-filtered when it shrinks, the border repeated outside."""

    def thumbnail(self, size: Size) -> npt.NDArray[np.uint8]:
        """The whole picture resized to ``size`` (area-filtered when it shrinks), BGR uint8."""

    def to_bgr(self, *, as_float: bool = False) -> Pixels:
        """The whole picture in BGR, a copy."""

    def paste(self, crop: Pixels, mask: Mask, frame_to_crop: Affine) -> None:
        """Blend ``crop`` back through the inverse of ``frame_to_crop`` where ``mask`` (crop coordinates) is above 0.

        Cost is linear in the area that the mask covers, not in the size of the picture.
        """

    def replaced_by(self, pixels: Pixels) -> Picture:
        """A new picture of the same format (size may differ) holding ``pixels``; this one is left as it is."""

    def rollback(self) -> None:
        """Undo every paste since the picture was decoded."""


@dataclass(slots=True)
class Frame:
    """One frame of a video, or the only one of an image."""

    index: int
    """Number of the frame in the target, from 0, in presentation order."""
    time: Fraction
    """Presentation time in seconds."""
    picture: Picture
    duration: Fraction = Fraction(0)
    """Seconds until the next frame is shown; 0 where nobody said."""


@dataclass(frozen=True, slots=True)
class FaceTraits:
    """What a classifier takes a person for, by the looks."""

    gender: str
    """``female`` or ``male``."""
    age: tuple[int, int]
    """First year of the range, and the one behind its last."""
    race: str
    """A value of ``--face-selector-race`` but ``auto``."""


@dataclass(frozen=True, slots=True)
class Face:
    """One face in one frame, in frame coordinates."""

    box: Box
    score: float
    """Detector's confidence, 0..1."""
    landmarks5: Landmarks5
    mesh: Landmarks478 | None = None
    presence: float | None = None
    """Probability that the mesh lies on a face, 0..1; none where no mesh was made."""
    landmarks68: Landmarks68 | None = None
    """Of a landmarker of its own; where none, those that the mesh gives are meant."""
    estimate68: Landmarks68 | None = None
    """The same points as a network guesses them from the five alone; where one was asked how the face is turned."""
    traits: FaceTraits | None = None
    embedding: Embedding | None = None
    track: int | None = None
    """Number of the track in the video: the same number means the same face over time."""
    fresh: bool = False
    """True in the first frame of a track: state carried from earlier frames does not apply."""
    source: int = 0
    """Number of the person of the sources who is put in its place."""
