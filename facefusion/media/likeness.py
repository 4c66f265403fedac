"""Whether videos have in common what all of one file has in common, so that they can be joined without a loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from facefusion.core.errors import OutputError
from facefusion.media.finished_video import FinishedTrack, FinishedVideo

OWN_OUTPUTS = "Or give each an output of its own."

PICTURE_REMEDIES = {
    "container": "Give both the same extension.",
    "codec": "Make both with the same --output-video-encoder.",
    "size": "Make both in one size with --output-video-scale or --output-video-resolution.",
    "pixel format": "Make both with the same --output-video-pixel-format.",
    "frame rate": "Make both with the same --output-video-fps.",
    "encoder settings": "Make both with the same --output-video-encoder, --output-video-preset and --output-video-fps.",
}
"""How to make two pictures alike, by what differs."""

OTHER_REMEDY = "Make both with the same options, of targets that are alike."

KINDS = {"audio": "sound", "subtitle": "subtitle"}
"""Tracks that go on from video to video, and what the user calls them."""

TRACK_REMEDIES = {
    "audio": "Make both with the same --output-audio-encoder, or without sound: --output-audio-volume 0.",
    "subtitle": "Take the subtitles out of the targets.",
}


def check_pictures(videos: Sequence[FinishedVideo]) -> None:
    """Make sure that the packets of all pictures can lie in one stream.

    Raises:
        OutputError: they cannot; the message names the first difference, the files and the remedy.
    """
    first = videos[0]
    traits = first.traits
    for other in videos[1:]:
        if (found := _difference(traits, other.traits)) is not None:
            name, shown = found
            remedy = PICTURE_REMEDIES.get(name, OTHER_REMEDY)
            raise _refusal(first, other, f"they differ in {name}{shown}", remedy)


def matched_tracks(videos: Sequence[FinishedVideo], kind: str) -> tuple[FinishedVideo, list[dict[int, int]]]:
    """Which tracks of a kind go on from video to video.

    A video may lack tracks that others have, since containers drop those in which nothing is said; the others then are
    told from each other by language.

    Args:
        videos: one or more.
        kind: one of :data:`KINDS`.

    Returns:
        The video that has them all, and for each video, by the index of each of its tracks, that of its like there.

    Raises:
        OutputError: a track has no like; the message names the first difference, the files and the remedy.
    """
    model = max(videos, key=lambda video: len(_of_kind(video, kind)))  # the first of these
    return model, [dict(_matches(model, video, kind)) for video in videos]


def _matches(model: FinishedVideo, video: FinishedVideo, kind: str) -> Iterator[tuple[int, int]]:
    likes = _of_kind(model, kind)
    tracks = _of_kind(video, kind)
    if len(tracks) < len(likes):
        likes = [like for like in likes if any(_is_like(track, like) for track in tracks)][: len(tracks)]
    if len(likes) < len(tracks):
        raise _refusal(
            model, video, f"the second lacks a {KINDS[kind]} track like each of the first", TRACK_REMEDIES[kind]
        )
    for number, (track, like) in enumerate(zip(tracks, likes, strict=True), 1):
        if (found := _difference(like.traits, track.traits)) is not None:
            name, shown = found
            fault = f"their {KINDS[kind]} tracks {number} differ in {name}{shown}"
            raise _refusal(model, video, fault, TRACK_REMEDIES[kind])
        yield track.index, like.index


def _is_like(track: FinishedTrack, like: FinishedTrack) -> bool:
    return track.language == like.language and track.traits == like.traits


def _of_kind(video: FinishedVideo, kind: str) -> list[FinishedTrack]:
    return [track for track in video.tracks if track.kind == kind]


def _difference(one: Mapping[str, object], other: Mapping[str, object]) -> tuple[str, str] | None:
    """The name of the first trait that differs, and both values where they can be read."""
    for name, trait in one.items():
        if trait != other[name]:
            return name, "" if isinstance(trait, bytes) else f" ({trait} and {other[name]})"
    return None


def _refusal(first: FinishedVideo, other: FinishedVideo, fault: str, remedy: str) -> OutputError:
    return OutputError(f"{first.path} and {other.path} cannot be joined: {fault}", f"{remedy} {OWN_OUTPUTS}")
