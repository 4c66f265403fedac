"""Which faces of photos are found, and what else is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from facefusion.core.values import Box, Face, Picture, Size
from facefusion.core.wording import counted
from facefusion.faces.analyse import FaceAnalyser
from facefusion.media.image import read_image
from facefusion.vision.boxes import box_overlap, intersection_over_union, pair_best_first
from facefusion.vision.geometry import SquareRegion
from scripts.face_chain.table import Photo, Place, write_table

SAME = 0.3
"""Overlap (intersection over union) from which a find is the face that was written down."""
NEAR = 0.1
"""Overlap from which a find lies on a place that does not count."""
CROP_SIDE = 256
IMAGES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tiff"})


class Judged(NamedTuple):
    """What became of one photo."""

    photo: Photo
    found: int
    missed: list[Place]
    false: list[Face]


def match(photo: Photo, faces: list[Face]) -> dict[int, int]:
    """Which of the faces found is which of the places."""
    if not faces or not photo.faces:
        return {}
    boxes = np.stack([face.box for face in faces])
    places = np.stack([place.box for place in photo.faces])
    return pair_best_first(intersection_over_union(boxes, places), SAME)


def judge_photos(photos: Iterable[Photo], analyser: FaceAnalyser) -> list[Judged]:
    """Find the faces of each photo and compare."""
    judged = []
    for photo in photos:
        faces = list(analyser.faces(read_image(photo.path), recognise=False))
        pairs = match(photo, faces)
        missed = [place for index, place in enumerate(photo.faces) if index not in pairs.values()]
        extra = [face for index, face in enumerate(faces) if index not in pairs]
        false = [face for face in extra if not any(box_overlap(face.box, place.box) > NEAR for place in photo.others)]
        judged.append(Judged(photo, len(pairs), missed, false))
    return judged


def report_photos(judged: list[Judged], save: Path | None) -> None:
    """Print recall and precision and each fault, and write crops of the faults."""
    found = sum(one.found for one in judged)
    missed = sum(len(one.missed) for one in judged)
    false = sum(len(one.false) for one in judged)
    print("## Photos\n")
    shown = f"{counted(len(judged), 'photo')}, {counted(found + missed, 'face')}"
    print(f"{shown}: found {found}, missed {missed}, false {false}")
    print(f"recall {_share(found, found + missed)}, precision {_share(found, found + false)}\n")
    for photo, _, lost, extra in judged:
        faults = [("missed", place.box, "") for place in lost]
        faults += [("false", face.box, f", score {face.score:.2f}, presence {face.presence:.3f}") for face in extra]
        for number, (fault, box, more) in enumerate(faults):
            print(f"{photo.name}: {fault} at {[round(float(edge)) for edge in box]}{more}")
            if save is not None:
                save.mkdir(parents=True, exist_ok=True)
                name = f"{photo.name.replace('/', '_')}_{number}_{fault}.png"
                cv2.imwrite(str(save / name), _crop(read_image(photo.path), box))
    print()


def propose(folder: Path, table: Path, analyser: FaceAnalyser) -> None:
    """Write down the faces found in every photo of a folder."""
    rows: list[tuple[str, Box | None]] = []
    for path in sorted(path for path in folder.rglob("*") if path.suffix.lower() in IMAGES):
        faces = analyser.faces(read_image(path), recognise=False)
        name = path.relative_to(folder).as_posix()
        rows += [(name, face.box) for face in faces] or [(name, None)]
    write_table(table, rows)


def _crop(picture: Picture, box: Box) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    place = Place(box, "")
    region = SquareRegion(*place.middle, 2 * place.side, 0.0)
    return picture.warp(region.to_crop(CROP_SIDE), Size(CROP_SIDE, CROP_SIDE)).astype(np.uint8)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
