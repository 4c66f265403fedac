"""How small, how tilted and how much cut off a face may be: photos of one face laid out anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from facefusion.core.values import Face, Picture, Size
from facefusion.core.wording import counted
from facefusion.faces.analyse import FaceAnalyser
from facefusion.media.image import read_image
from facefusion.vision.geometry import SquareRegion
from facefusion.vision.picture import BgrPicture
from scripts.face_chain.table import Photo, Place, alone

CANVAS = 640
"""Side of the picture, in pixels: what the detector sees it at."""
LEAST_SIDE = 120.0
"""Pixels: smaller faces are not taken for this."""
USUAL = 200.0
"""Longer side of a face whose angle or cut is of interest, in pixels."""
SIZES = (10, 12, 14, 16, 20, 24, 32, 48, 64, 128, 256, 400, 520, 640, 760, 900)
ANGLES = (0, 15, 30, 45, 60, 75, 90, 120, 150, 180)
EDGES = ("left", "right", "top", "bottom")
CUTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


class Case(NamedTuple):
    """A picture made of a photo, and where its face is."""

    picture: Picture
    x: float
    y: float
    side: float

    def shows(self, face: Face) -> bool:
        """Whether this is the face; its box is larger where it is turned, and smaller where it is cut."""
        gap = (face.box[:2] + face.box[2:]) / 2 - (self.x, self.y)
        size = float((face.box[2:] - face.box[:2]).max()) / self.side
        return float(np.hypot(*gap)) < self.side / 2 and 0.5 < size < 2.0


def laid(picture: Picture, place: Place, side: float = USUAL, angle: float = 0.0) -> Case:
    """A square picture in the middle of which the face lies with its longer side so long, turned by degrees."""
    region = SquareRegion(*place.middle, CANVAS * place.side / side, np.radians(angle))
    pixels = picture.warp(region.to_crop(CANVAS), Size(CANVAS, CANVAS)).astype(np.uint8)
    return Case(BgrPicture(pixels), (CANVAS - 1) / 2, (CANVAS - 1) / 2, side)


def cut(picture: Picture, place: Place, edge: str, share: float) -> Case:
    """The same of usual size, the share of its width or height beyond an edge of the picture."""
    whole = laid(picture, place)
    pixels = whole.picture.to_bgr().astype(np.uint8)
    width, height = (float(side) * USUAL / place.side for side in place.box[2:] - place.box[:2])
    across, down = round(CANVAS / 2 + (share - 0.5) * width), round(CANVAS / 2 + (share - 0.5) * height)
    match edge:
        case "left":
            part, x, y = pixels[:, across:], whole.x - across, whole.y
        case "right":
            part, x, y = pixels[:, : CANVAS - across], whole.x, whole.y
        case "top":
            part, x, y = pixels[down:], whole.x, whole.y - down
        case _:
            part, x, y = pixels[: CANVAS - down], whole.x, whole.y
    return Case(BgrPicture(np.ascontiguousarray(part)), x, y, USUAL)


def report_conditions(photos: Iterable[Photo], analyser: FaceAnalyser) -> None:
    """Print the share of faces that are found, by size, by angle and by what is cut off."""
    views = [(read_image(photo.path), place) for photo, place in alone(photos, LEAST_SIDE)]
    print(f"## Size, angle and cut: {counted(len(views), 'photo')}\n")
    print("longer side of the face, px | found | false")
    for side in SIZES:
        _report(f"{side:>27}", (laid(*view, side) for view in views), analyser)
    print("\n         turned by, degrees | found | false")
    for angle in ANGLES:
        _report(f"{angle:>27}", (laid(*view, angle=angle) for view in views), analyser)
    for edge in EDGES:
        print(f"\n{f'share beyond the {edge}':>27} | found | false")
        for share in CUTS:
            _report(f"{share:>27}", (cut(*view, edge, share) for view in views), analyser)
    print()


def _report(title: str, cases: Iterator[Case], analyser: FaceAnalyser) -> None:
    total = found = false = 0
    for case in cases:
        hits = [case.shows(face) for face in analyser.faces(case.picture, recognise=False)]
        total, found, false = total + 1, found + any(hits), false + len(hits) - any(hits)
    print(f"{title} | {100 * found / max(total, 1):4.0f}% | {false}")
