"""The faces that are taken from photos: those that are put in, and those of whom they replace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from facefusion.core.errors import FaceNotFoundError
from facefusion.core.values import Face, Picture
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.selection import sort_faces


class SourceFace(NamedTuple):
    """A photo and the face taken from it."""

    path: str
    picture: Picture
    face: Face


def find_source_faces(
    photos: Iterable[tuple[str, Picture]], analyser: FaceAnalyser, role: str = "source"
) -> tuple[SourceFace, ...]:
    """The largest face of each photo, with its identity.

    Args:
        photos: each with the path it came from.
        analyser: finds and recognises.
        role: what the photos are, for messages.

    Raises:
        FaceNotFoundError: photos show no face; all of them are named.
    """
    sources: list[SourceFace] = []
    faceless: list[str] = []
    for path, picture in photos:
        faces = sort_faces(analyser.faces(picture, recognise=True), "large-small")
        if faces:
            sources.append(SourceFace(path, picture, analyser.refine(picture, faces[:1])[0]))
        else:
            faceless.append(path)
    if faceless:
        raise FaceNotFoundError(
            f"No face was found in the {role} {', '.join(faceless)}",
            "Use a photo in which the face is well lit, not covered, and not much smaller than a tenth of its height.",
        )
    return tuple(sources)
