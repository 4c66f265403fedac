"""Opening a file for reading, with errors a user can act on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import av
from av.codec.context import CodecContext
from av.container import InputContainer
from av.stream import Disposition
from av.video.stream import VideoStream

from facefusion.core.access import looking
from facefusion.core.errors import MediaError
from facefusion.core.wording import shown
from facefusion.media.demuxers import READING


def check_file(path: Path) -> None:
    """Make sure that a readable, non-empty file lies at ``path``.

    Raises:
        MediaError: it does not.
    """
    with looking(MediaError, shown(str(path)), "Check the path, and the permissions of its folder."):
        if path.is_dir():
            raise MediaError(f"{path} is a folder, not an image or video", "Name a file inside it.")
        if not path.exists():
            raise MediaError(f"{path} does not exist", "Check the path.")
        if not path.is_file():
            raise MediaError(f"{path} is a pipe or a device", "Name a file on a disk.")
        if not os.access(path, os.R_OK):
            raise MediaError(f"{path} cannot be read: permission denied", "Change its permissions or use a copy.")
        size = path.stat().st_size
    if size == 0:
        raise MediaError(f"{path} is empty", "Get the file again; its download or copy did not finish.")


def open_source(path: Path, kind: str = "image or video") -> InputContainer:
    """Open a media file, and no other one that it may name.

    Args:
        path: of the file.
        kind: what it should be, for the message.

    Raises:
        MediaError: it is missing, empty or no media, or of a kind that is not read.
    """
    check_file(path)
    try:
        return av.open(str(path.absolute()), "r", metadata_errors="replace", container_options=READING)
    except av.ArgumentError as error:
        raise MediaError(
            f"{path} is no {kind} that can be read: damaged, or of a kind that is not read here, as a list of files is",
            "Convert it, a picture to PNG, a video to H.264, or name the file itself that is meant.",
        ) from error
    except av.FFmpegError as error:
        raise MediaError(
            f"{path} is no {kind} that can be read ({error.strerror})",
            "Check that it opens in a player; a file with the wrong extension or a broken download does not.",
        ) from error


def main_video_stream(container: InputContainer, path: Path) -> VideoStream:
    """The stream a player shows: FFmpeg's best, cover pictures left aside.

    Raises:
        MediaError: the file has no video, or none that can be decoded.
    """
    moving = [stream for stream in container.streams.video if not stream.disposition & Disposition.attached_pic]
    if not moving:
        raise MediaError(f"{path} has no video stream", "Name a file with pictures, not sound alone.")
    able = [stream for stream in moving if cast("CodecContext | None", stream.codec_context) is not None]
    if not able:
        raise MediaError(
            f"{path} ({container.format.long_name}) is of a codec that cannot be decoded here",
            "Convert it, a picture to PNG, a video to H.264.",
        )
    best = container.streams.best("video")
    return next((stream for stream in able if best is not None and stream.index == best.index), able[0])
