"""The people who are put in: which photos show them, and their faces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from facefusion.app.recollection import Recollection
from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import UsageError
from facefusion.core.formats import MediaKind, kind_of
from facefusion.core.wording import shown
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.faces.sources import SourceFace, find_source_faces
from facefusion.media.image import read_image
from facefusion.observability.events import EventSink, Notice
from facefusion.processors.base import Source

Photos: TypeAlias = tuple[tuple[Path, ...], ...]
"""The files that show each person."""

BYTES_PER_PIXEL = 3
"""Of a photo."""


def source_photos(snapshot: Snapshot, wanting: Sequence[str]) -> Photos:
    """The photos of everybody who is put in; nobody where nothing wants any.

    Args:
        snapshot: the settings in force.
        wanting: what needs a source face, for messages.

    Raises:
        UsageError: there is no photo; or there are some that a map of faces leaves without a place.
    """
    if not wanting:
        return ()
    # Sources may be sound too.
    photos = tuple(path for path in snapshot.get(PathsSettings).source_paths if kind_of(path) is not MediaKind.AUDIO)
    mapping = snapshot.get(FaceSelectorSettings).mapping
    if mapping and photos:
        raise UsageError(
            f"--face-map says who becomes whom, and nobody becomes the source {shown(str(photos[0]))}",
            "Name it in --face-map, or leave it out of --source-paths.",
        )
    if mapping:
        return mapping.people
    if not photos:
        raise UsageError(f"{wanting[0]} needs a source face", "Name one image or more with --source-paths.")
    return (photos,)


def read_sources(
    photos: Photos, analyser: FaceAnalyser, events: EventSink, recollection: Recollection
) -> tuple[Source, ...]:
    """The faces of everybody who is put in; each file is looked at once, and not again by later steps.

    Args:
        photos: the files that show each person.
        analyser: finds and recognises.
        events: told of faces in doubt.
        recollection: of what earlier steps found.

    Raises:
        FaceNotFoundError: photos show no face; all of them are named.
        MediaError: one cannot be read.
    """
    paths = tuple(dict.fromkeys(path for person in photos for path in person))
    if not paths:
        return ()
    pictures = ((str(path), read_image(path)) for path in paths)
    faces = recollection.of(paths, "sources", lambda: find_source_faces(pictures, analyser), _bytes_of)
    found = dict(zip(paths, faces, strict=True))
    for doubtful in (source for source in found.values() if source.face.score < analyser.scores.doubtful):
        message = f"The face found in {doubtful.path} is in doubt (score {doubtful.face.score:.2f}): is it a person's?"
        events.emit(Notice(message, warning=True))
    return tuple(Source(*found[path], number) for number, person in enumerate(photos) for path in person)


def _bytes_of(found: Sequence[SourceFace]) -> int:
    return sum(BYTES_PER_PIXEL * face.picture.size.width * face.picture.size.height for face in found)
