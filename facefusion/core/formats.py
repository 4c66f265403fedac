"""Which kinds of media a file's name promises."""

from __future__ import annotations

from enum import Enum
from pathlib import PurePath


class MediaKind(Enum):
    """What a file holds."""

    IMAGE = "image"
    VIDEO = "video"
    AUDIO = "audio"


EXTENSIONS: dict[MediaKind, tuple[str, ...]] = {
    MediaKind.IMAGE: (
        ".apng",
        ".avif",
        ".bmp",
        ".gif",
        ".heic",
        ".heif",
        ".jpeg",
        ".jpg",
        ".png",
        ".tif",
        ".tiff",
        ".webp",
    ),
    MediaKind.VIDEO: (".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mxf", ".webm", ".wmv"),
    MediaKind.AUDIO: (".flac", ".m4a", ".mp3", ".ogg", ".opus", ".wav"),
}
"""Lower-case extensions by kind; the formats that can be read and, but for audio, written."""

MOVING_IMAGES = (".apng", ".gif", ".png", ".webp")
"""Extensions of image formats that hold moving pictures too."""


def kind_of(path: PurePath) -> MediaKind | None:
    """The kind that the extension promises; none where it promises nothing known."""
    extension = path.suffix.lower()
    return next((kind for kind, extensions in EXTENSIONS.items() if extension in extensions), None)


def is_moving_image(path: PurePath) -> bool:
    """Whether the extension names an image format that holds moving pictures too."""
    return path.suffix.lower() in MOVING_IMAGES


def writable(kind: MediaKind) -> tuple[str, ...]:
    """Extensions of the formats that media of a kind can be written in."""
    return (*EXTENSIONS[kind], *MOVING_IMAGES) if kind is MediaKind.VIDEO else EXTENSIONS[kind]


def can_hold(path: PurePath, kind: MediaKind) -> bool:
    """Whether the format that the extension names holds media of a kind: some images hold moving pictures."""
    return path.suffix.lower() in writable(kind)
