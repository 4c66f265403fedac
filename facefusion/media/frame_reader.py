"""Whatever gives the frames of a target: a video or an animated image."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Protocol, Self

from facefusion.core.values import Frame
from facefusion.media.animation import AnimationReader
from facefusion.media.damage import Damage
from facefusion.media.decoder_card import DecoderCard
from facefusion.media.probe import MediaInfo
from facefusion.media.reader import Anchor, VideoReader


class FrameReader(Protocol):
    """Iterates over frames in the order they are shown. A context manager for one pass on one thread."""

    damage: Damage
    """What was found so far."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __iter__(self) -> Iterator[Frame]: ...


def frame_reader(
    info: MediaInfo,
    *,
    start: int | None = None,
    end: int | None = None,
    threads: int = 0,
    anchor: Anchor | None = None,
    check: Callable[[], None] | None = None,
    card: DecoderCard | None = None,
) -> FrameReader:
    """What reads a target; the arguments are those of :class:`facefusion.media.reader.VideoReader`."""
    if info.animation is None:
        return VideoReader(info, start=start, end=end, threads=threads, anchor=anchor, check=check, card=card)
    first = (start or 0) if anchor is None else anchor.index
    return AnimationReader(info.path, start=first, end=end)
