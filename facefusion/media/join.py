"""Putting finished videos one after the other into one file, without touching a picture or a sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import av

from facefusion.core.errors import OutputError
from facefusion.core.formats import is_moving_image
from facefusion.core.stop import StopToken
from facefusion.media.container import container_of
from facefusion.media.failure import explained
from facefusion.media.finished_video import FinishedVideo
from facefusion.media.finishing import AS_WRITTEN, Finishing, finish_into_place
from facefusion.media.join_animation import join_animations
from facefusion.media.joined_file import JoinedFile
from facefusion.media.likeness import check_pictures
from facefusion.media.output import part_path
from facefusion.media.verify import Expected, verify_video


def join_videos(
    parts: Sequence[Path], output: Path, stop: StopToken, finishing: Finishing = AS_WRITTEN
) -> tuple[str, ...]:
    """Write videos one after the other into one file, by copying their packets; animated images by drawing them anew.

    Picture, sound tracks, subtitles and chapters are taken along. Each video begins where the picture of the one before
    ends; what would be heard of that after its end is left out. Attachments, covers and tags are those of the first,
    the tracks' names those of the first that has all tracks. A video without sound is silent in the result.

    Args:
        parts: two or more results of this program, in order, in the container that the extension of ``output`` names.
            They are left as they are.
        output: the result. What lies there is replaced once the new file is whole and verified.
        stop: asked now and then.
        finishing: what it says of itself.

    Returns:
        What the user should know, a sentence each.

    Raises:
        OutputError: the videos differ in something that all of one file has in common; the message names the first
            such thing and what to do. Or the result cannot be written, or reads back as something else.
        SigningError: it cannot be signed; the message says where it is kept.
        MediaError: one of them is missing or no video.
        ResourceError: the disk is full.
        Stopped: a stop was requested; nothing was left behind.
    """
    if is_moving_image(output):
        return join_animations(parts, output, stop, finishing)
    part = part_path(output)
    try:
        expected, notices = _join(parts, part, output, finishing.tags(), stop)
        check = partial(verify_video, part, output, expected, stop)
        return (*notices, *finish_into_place(part, output, finishing, check, stop))
    except (av.FFmpegError, OSError, ValueError) as error:
        raise explained(error, output, "the packets of its parts") from error
    finally:
        part.unlink(missing_ok=True)


def _join(
    parts: Sequence[Path], part: Path, output: Path, tags: Mapping[str, str], stop: StopToken
) -> tuple[Expected, tuple[str, ...]]:
    container = container_of(output)
    videos = [FinishedVideo.read(path, stop) for path in parts]
    check_pictures(videos)
    if videos[0].container.muxer != container.muxer:
        raise OutputError(
            f"{videos[0].path} is no {output.suffix} file, so it cannot be joined to {output}",
            "Give the output and its parts the same extension.",
        )
    with ExitStack() as stack:
        return JoinedFile(part, videos, tags, stack).write(stop)
