"""Putting finished videos one after the other into one file, without touching a picture or a sound."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import av

from facefusion.core.errors import OutputError
from facefusion.core.formats import is_moving_image
from facefusion.core.stop import StopToken
from facefusion.media.container import container_of
from facefusion.media.failure import explained
from facefusion.media.finished_video import FinishedVideo
from facefusion.media.join_animation import join_animations
from facefusion.media.joined_file import JoinedFile
from facefusion.media.likeness import check_pictures
from facefusion.media.output import move_into_place, part_path
from facefusion.media.source import check_file
from facefusion.media.verify import verify_video


def join_videos(parts: Sequence[Path], output: Path, stop: StopToken) -> tuple[str, ...]:
    """Write videos one after the other into one file, by copying their packets; animated images by drawing them anew.

    Picture, sound tracks, subtitles and chapters are taken along. Each video begins where the picture of the one before
    ends; what would be heard of that after its end is left out. Attachments, covers, tags and the tracks' names are
    those of the first that has them. A video without sound is silent in the result.

    Args:
        parts: results of this program, in order, in the container that the extension of ``output`` names. They are left
            as they are. Of a single one, the result is a copy.
        output: the result. What lies there is replaced once the new file is whole and verified.
        stop: asked now and then.

    Returns:
        What the user should know, a sentence each.

    Raises:
        OutputError: the videos differ in something that all of one file has in common; the message names the first
            such thing and what to do. Or the result cannot be written, or reads back as something else.
        MediaError: one of them is missing or no video.
        ResourceError: the disk is full.
        Stopped: a stop was requested; nothing was left behind.
    """
    if not parts:
        raise OutputError(f"{output} would hold no frame", "Name the videos to join.")
    is_copy = len(parts) == 1 and parts[0].suffix.lower() == output.suffix.lower()
    if is_moving_image(output) and not is_copy:
        return join_animations(parts, output, stop)
    part = part_path(output)
    try:
        if is_copy:
            check_file(parts[0])
            _copy(parts[0], part)
            notices: tuple[str, ...] = ()
        else:
            notices = _join(parts, part, output, stop)
        move_into_place(part, output)
        return notices
    except (av.FFmpegError, OSError, ValueError) as error:
        raise explained(error, output, "the packets of its parts") from error
    finally:
        part.unlink(missing_ok=True)


def _join(parts: Sequence[Path], part: Path, output: Path, stop: StopToken) -> tuple[str, ...]:
    container = container_of(output)
    videos = [FinishedVideo.read(path, stop) for path in parts]
    check_pictures(videos)
    if videos[0].container.muxer != container.muxer:
        raise OutputError(
            f"{videos[0].path} is no {output.suffix} file, so it cannot be joined to {output}",
            "Give the output and its parts the same extension.",
        )
    with ExitStack() as stack:
        expected, notices = JoinedFile(part, videos, stack).write(stop)
    verify_video(part, output, expected, stop)
    return notices


def _copy(source: Path, part: Path) -> None:
    """A second name for a file where the file system has such, else a copy of it."""
    try:
        part.hardlink_to(source.resolve())
    except OSError:
        shutil.copyfile(source, part)
