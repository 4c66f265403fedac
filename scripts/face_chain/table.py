"""What photos show, as people wrote it down."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from facefusion.core.values import Box

COLUMNS = ("file", "left", "top", "right", "bottom", "person")
NOBODY = "-"
"""In place of a person: a place that does not count, whether something is found there or not."""


class Place(NamedTuple):
    """Where a face is."""

    box: Box
    person: str
    """A name; empty where it is not known."""

    @property
    def side(self) -> float:
        """The longer side of the box, in pixels."""
        return float((self.box[2:] - self.box[:2]).max())

    @property
    def middle(self) -> tuple[float, float]:
        """Of the box."""
        x, y = (self.box[:2] + self.box[2:]) / 2
        return float(x), float(y)


@dataclass(frozen=True, slots=True)
class Photo:
    """A file and the faces in it."""

    path: Path
    name: str
    """As the table has it."""
    faces: list[Place] = field(default_factory=list)
    """Those that are to be found."""
    others: list[Place] = field(default_factory=list)
    """Places that do not count."""


def read_table(path: Path, folder: Path) -> list[Photo]:
    """The photos of a table, in its order.

    Raises:
        ValueError: a line is not as it should be.
    """
    photos: dict[str, Photo] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            photo = photos.setdefault(row["file"], Photo(folder / row["file"], row["file"]))
            edges = [row[edge] for edge in COLUMNS[1:5]]
            if not any(edges):
                continue
            try:
                box = np.array([float(edge) for edge in edges], np.float32)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: four numbers or none make a box: {error}") from error
            place = Place(box, row["person"])
            (photo.others if place.person == NOBODY else photo.faces).append(place)
    return list(photos.values())


def write_table(path: Path, rows: Iterable[tuple[str, Box | None]]) -> None:
    """A table of boxes without persons, to be corrected by hand; none for a file without faces."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for name, box in rows:
            table.writerow([name, *(["", "", "", ""] if box is None else [round(float(edge)) for edge in box]), ""])


def alone(photos: Iterable[Photo], least: float) -> list[tuple[Photo, Place]]:
    """The photos that show one face and nothing doubtful, with the face; ``least`` is its side in pixels."""
    return [
        (photo, photo.faces[0])
        for photo in photos
        if len(photo.faces) == 1 and not photo.others and photo.faces[0].side >= least
    ]
