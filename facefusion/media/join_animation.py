"""Putting animated images one after the other into one file."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

import numpy as np

from facefusion.core.errors import MediaError, OutputError
from facefusion.core.stop import StopToken
from facefusion.core.values import Frame
from facefusion.media.animation import AnimationFacts, AnimationReader, animation_facts, write_animation
from facefusion.media.finishing import AS_WRITTEN, Finishing
from facefusion.media.image import read_image_with_details
from facefusion.media.image.encode import LOSSLESS
from facefusion.media.source import check_file
from facefusion.vision.colour import Plane
from facefusion.vision.picture import BgrPicture


def join_animations(
    parts: Sequence[Path], output: Path, stop: StopToken, finishing: Finishing = AS_WRITTEN
) -> tuple[str, ...]:
    """Write animated images one after the other into one, whose frames look and last as they do in the parts.

    Frames are drawn anew, since formats keep of most only what differs from the frame before. A WebP is written without
    loss: it was written with a loss once, and is not a second time.

    Args:
        parts: results of this program, in order. They are left as they are.
        output: the result; its extension names the format. How often it plays, and its tags, are the first part's.
        stop: asked now and then.
        finishing: what it says of itself.

    Returns:
        What the user should know.

    Raises:
        SigningError: it cannot be signed; the message says where it is kept.
        MediaError: a part is missing, damaged or does not move.
        OutputError: the parts are not of one size, or the result cannot be written.
        Stopped: a stop was requested; nothing was left behind.
    """
    facts = [_facts(path) for path in parts]
    first = facts[0]
    for path, other in zip(parts, facts, strict=True):
        if other.size != first.size:
            raise OutputError(
                f"{parts[0]} and {path} cannot be joined: they differ in size ({first.size.width} x "
                f"{first.size.height} and {other.size.width} x {other.size.height})",
                "Make both in one size with --output-video-scale or --output-video-resolution.",
            )
    alpha = any(other.alpha for other in facts)
    with closing(_frames(parts, alpha, stop)) as frames:
        return write_animation(
            frames,
            output,
            quality=LOSSLESS,
            loops=first.loops,
            delays=[delay for other in facts for delay in other.delays],
            details=read_image_with_details(parts[0])[1],
            finishing=finishing,
            stop=stop,
        )


def _facts(path: Path) -> AnimationFacts:
    check_file(path)
    facts = animation_facts(path)
    if facts is None:
        raise MediaError(f"{path} does not move, so nothing can be joined to it", "Name animated images or videos.")
    return facts


def _frames(parts: Sequence[Path], alpha: bool, stop: StopToken) -> Generator[Frame, None, None]:
    """All frames, numbered through; with an alpha channel in all of them, or in none."""
    index, time = 0, Fraction(0)
    for path in parts:
        with AnimationReader(path) as reader:
            for frame in reader:
                stop.check()
                picture = frame.picture
                if alpha and isinstance(picture, BgrPicture) and picture.alpha is None:
                    picture = _opaque(picture)
                yield replace(frame, index=index, time=time, picture=picture)
                index, time = index + 1, time + frame.duration


def _opaque(picture: BgrPicture) -> BgrPicture:
    size = picture.size
    return BgrPicture(picture.pixels, cast("Plane", np.full((size.height, size.width), 255, np.uint8)))
