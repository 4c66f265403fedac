"""Tags of the source that still hold for the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import av
from av.container import InputContainer
from av.stream import Disposition, Stream

from facefusion.core.report import NotKept
from facefusion.media.source import open_source

FILE_TAGS = frozenset(("major_brand", "minor_version", "compatible_brands", "encoder", "software", "duration"))
"""Tags of a whole file that describe the old one, in lower case."""

HANDLER = "handler_name"
"""What MP4 and QuickTime call the program that shows a track. Many give it the track's title, and players show it."""

STREAM_TAGS = frozenset(
    (
        *("duration", "encoder", HANDLER, "vendor_id", "creation_time"),
        *("rotate", "alpha_mode", "stereo_mode", "timecode", "filename", "mimetype"),
    )
)
"""Tags of a stream that describe the old file, in lower case; ``creation_time`` is kept on the whole file."""

STATISTICS = ("_statistics_", "bps", "number_of_bytes", "number_of_frames", "source_id")
"""Beginnings of tags in which MKVToolNix counts what a track holds."""

MACINTOSH = {
    "deu": "ger",
    "ell": "gre",
    "isl": "ice",
    "nld": "dut",
    "sqi": "alb",
    "swe": "sve",
    "zho": "chi",
}
"""Languages of ISO 639-2 by the names under which FFmpeg knows them for QuickTime, which has a list of its own."""

MP4_TITLE = "name"
"""What FFmpeg calls the title of a track that it reads from MP4; it writes it from ``title``."""

SHOWN_DISPOSITIONS = (
    *(Disposition.default, Disposition.forced, Disposition.comment, Disposition.original, Disposition.dub),
    *(Disposition.hearing_impaired, Disposition.visual_impaired),
)


def file_tags(tags: Mapping[str, str]) -> dict[str, str]:
    """What is kept of the tags of a whole file."""
    return {key: value for key, value in tags.items() if key.lower() not in FILE_TAGS}


def told_tags(tags: Mapping[str, str], told: Mapping[str, str]) -> dict[str, str]:
    """Tags of a whole result: those that are told of it, and what is kept of those of its source."""
    names = {key.lower() for key in told}
    return {key: value for key, value in file_tags(tags).items() if key.lower() not in names} | dict(told)


def stream_tags(tags: Mapping[str, str], told: Iterable[str] = ()) -> dict[str, str]:
    """What is kept of the tags of a stream: none of a name that is told of the whole file."""
    left = STREAM_TAGS | {key.lower() for key in told}
    return {
        "title" if key.lower() == MP4_TITLE else key: value
        for key, value in tags.items()
        if key.lower() not in left and not key.lower().startswith(STATISTICS)
    }


def copy_description(source: Stream, target: Stream, muxer: str, told: Iterable[str] = ()) -> None:
    """Give a stream the language, title, further tags and role of another.

    Args:
        source: the other one.
        target: the stream.
        muxer: FFmpeg's name of what writes it.
        told: names of tags that are told of the whole file, and that no stream contradicts.
    """
    target.metadata.update(stream_tags(source.metadata, told))
    language = target.metadata.get("language")
    if language and muxer == "mov":
        target.metadata["language"] = MACINTOSH.get(language, language)
    handler = source.metadata.get(HANDLER)
    if handler and muxer in ("mov", "mp4"):
        target.metadata[HANDLER] = handler
    target.disposition = Disposition(source.disposition)


def lost_descriptions(
    source: Path, written: Path, tracks: Mapping[int, int], *, chapters: int, told: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Read a finished file, and name the tags, chapters, languages, titles and roles of its source that it lacks.

    Args:
        source: that it was made from.
        written: the finished file.
        tracks: index in the finished file of each track of the source that is in it.
        chapters: how many there should be.
        told: tags that are told of the finished file, whatever the source says.
    """
    with open_source(source) as old, av.open(str(written), metadata_errors="replace") as new:
        if chapters and len(new.chapters()) != chapters:
            yield NotKept(f"The output's container cannot hold the {chapters} chapters of {source.name}.")
        kept = {key.lower() for key in (*new.metadata, *(told or ()))}
        lost = sorted(key for key, value in file_tags(old.metadata).items() if value and key.lower() not in kept)
        if lost:
            yield NotKept(f"The output's container cannot hold these tags of {source.name}: {', '.join(lost)}.")
        for before, after in sorted(tracks.items()):
            name = f"{old.streams[before].type} track {before} of {source.name}"
            if after >= len(new.streams):
                yield NotKept(f"The output's container did not keep {name}.")
                continue
            wanted = stream_tags(old.streams[before].metadata, told or ())
            missing = ", ".join(_missing(old.streams[before], wanted, new.streams[after], _has_choice(old, before)))
            if missing:
                yield NotKept(f"The output's container cannot hold of {name}: {missing}.")


def _has_choice(container: InputContainer, track: int) -> bool:
    """Whether a player has to choose between this track and another of its kind."""
    kind = container.streams[track].type
    return kind != "video" and sum(stream.type == kind for stream in container.streams) > 1


def _missing(old: Stream, wanted: Mapping[str, str], new: Stream, has_choice: bool) -> Iterator[str]:
    """Which descriptions are gone; without a choice there is no default."""
    kept = {key.lower(): value for key, value in stream_tags(new.metadata).items()}
    for key, value in wanted.items():
        if value and value != "und" and not kept.get(key.lower()):
            yield f"{key} ({value})"
    for role in SHOWN_DISPOSITIONS:
        if role == Disposition.default and not has_choice:
            continue
        if old.disposition & role and not new.disposition & role:
            yield f"its mark as {str(role.name).replace('_', ' ')}"
