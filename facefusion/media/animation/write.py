"""Writing an animated image."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import numpy as np

from facefusion.core.errors import MediaError, OutputError
from facefusion.core.stop import StopToken
from facefusion.core.values import Frame, Size
from facefusion.media.animation.apng import PngFile
from facefusion.media.animation.facts import FOREVER
from facefusion.media.animation.gif import GifFile
from facefusion.media.animation.parts import Pacer, Part, Sheet, Shot, Timing, parts
from facefusion.media.animation.read import AnimationReader
from facefusion.media.animation.webp import WebpFile
from facefusion.media.finishing import AS_WRITTEN, Finishing, finish_into_place
from facefusion.media.image.details import ImageDetails
from facefusion.media.image.encode import LOSSLESS
from facefusion.media.image.formats import GIF, PNG, WEBP, StillFormat, format_of
from facefusion.media.image.prepare import as_rgb, metadata_notices, said
from facefusion.media.output import part_path
from facefusion.vision.colour import Plane


class AnimationFile(Protocol):
    """A file that grows frame by frame."""

    @property
    def timing(self) -> Timing:
        """How the format counts time."""

    @property
    def clearing(self) -> bool:
        """A pixel once drawn can be hidden again only by emptying the picture."""

    @property
    def even(self) -> bool:
        """Parts begin at even numbers."""

    @property
    def mixed(self) -> bool:
        """So far a frame had more colours than the format holds."""

    def add(self, part: Part) -> None:
        """Append a frame."""

    def finish(self) -> None:
        """End the file."""


FILES: dict[str, Callable[[BinaryIO, Sheet], AnimationFile]] = {
    GIF.name: GifFile,
    PNG.name: PngFile,
    WEBP.name: WebpFile,
}


@dataclass(slots=True)
class _Record:
    """What was written: for the check, and for what has to be said."""

    delays: list[Fraction] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    """Of the frames' pixels, where they must come back as they were."""
    half_transparent: bool = False
    deep: bool = False
    mixed: bool = False
    dropped: int = 0
    rounded: bool = False


def write_animation(
    frames: Iterable[Frame],
    path: Path,
    *,
    quality: int,
    loops: int = FOREVER,
    delays: Sequence[Fraction] | None = None,
    details: ImageDetails | None = None,
    finishing: Finishing = AS_WRITTEN,
    stop: StopToken | None = None,
) -> tuple[str, ...]:
    """Write an animated GIF, PNG or WebP as the extension says, verify it by reading it back, and move it into place.

    One frame is worked on at a time, however many there are.

    Args:
        frames: in order, of one size; each shown for its duration.
        path: where to.
        quality: 0..100 for WebP, which loses nothing at 100; PNG never does, GIF at most colours.
        loops: how often it plays; 0 for ever.
        delays: seconds by the frames' index, written as they are even where players show others (a source's own, as
            :class:`AnimationFacts` has them). Without them the frames' durations count, and a GIF leaves out frames
            that would be shown for less than 20 ms, since players would show them for 100 ms.
        details: of the source.
        finishing: what it says of itself.
        stop: asked once it is written.

    Returns:
        What was not kept, a sentence each.

    Raises:
        SigningError: it cannot be signed; the message says where it is kept.
        OutputError: no such format, no frame, nothing can be written there, or the file reads back differently.
    """
    still = format_of(path)
    if still.name not in FILES:
        raise OutputError(f"{path} names no format of moving images", "Use .gif, .png, .apng or .webp.")
    details = said(details or ImageDetails(), still, finishing)
    part = part_path(path)
    try:
        record = _write(frames, part, still, _Settings(path, quality, loops, delays, details))
        check = partial(_verify, part, path, record, loops)
        notices = finish_into_place(part, path, finishing, check, stop or StopToken())
    except OSError as error:
        raise OutputError(f"{path} cannot be written ({error})", "Check the disk and the folder.") from error
    finally:
        part.unlink(missing_ok=True)
    return (*_notices(path, still, record), *metadata_notices(path, still, details, grey=False), *notices)


@dataclass(frozen=True, slots=True)
class _Settings:
    path: Path
    quality: int
    loops: int
    delays: Sequence[Fraction] | None
    details: ImageDetails


def _write(frames: Iterable[Frame], part: Path, still: StillFormat, settings: _Settings) -> _Record:
    iterator = iter(frames)
    first = next(iterator, None)
    if first is None:
        raise OutputError(f"{settings.path} would hold no frame", "Choose other frames.")
    codes = as_rgb(first.picture)
    size, alpha = Size(codes.shape[1], codes.shape[0]), codes.shape[2] == 4
    still.check_size(settings.path, *size)
    sheet = Sheet(size, alpha, settings.loops, settings.quality, settings.details)
    record = _Record()
    with part.open("wb") as stream:
        file = FILES[still.name](stream, sheet)
        pacer = Pacer(file.timing, settings.delays)
        exact = still is PNG or (still is WEBP and settings.quality == LOSSLESS)
        shots = _shots(_chain(first, iterator), pacer, record, alpha=alpha, exact=exact)
        for piece in parts(shots, clearing=file.clearing, even=file.even):
            file.add(piece)
            record.delays.append(piece.delay)
        file.finish()
    record.mixed, record.dropped, record.rounded = file.mixed, pacer.dropped, pacer.rounded
    return record


def _chain(first: Frame, rest: Iterator[Frame]) -> Iterator[Frame]:
    """Without holding on to the first one."""
    yield first
    yield from rest


def _shots(frames: Iterator[Frame], pacer: Pacer, record: _Record, *, alpha: bool, exact: bool) -> Iterator[Shot]:
    for frame in frames:
        delay = pacer.delay(frame)
        if delay is None:
            continue
        codes = _channels(as_rgb(frame.picture), alpha=alpha)
        if alpha:
            record.half_transparent |= bool(np.any((codes[..., 3] > 0) & (codes[..., 3] < 255)))
        record.deep |= frame.picture.bit_depth > 8
        if exact:
            record.sums.append(zlib.crc32(codes.tobytes()))
        yield Shot(codes, delay)


def _channels(codes: Plane, *, alpha: bool) -> Plane:
    """The first frame decides for all."""
    if alpha and codes.shape[2] == 3:
        return cast("Plane", np.dstack((codes, np.full(codes.shape[:2], 255, np.uint8))))
    return cast("Plane", np.ascontiguousarray(codes if alpha else codes[..., :3]))


def _verify(part: Path, path: Path, record: _Record, loops: int) -> None:
    if len(record.delays) < 2:
        return  # a file of one frame is a still to whoever reads it
    try:
        with AnimationReader(part) as reader:
            facts = reader.facts
            sums = [zlib.crc32(as_rgb(frame.picture).tobytes()) for frame in reader]
    except MediaError as error:
        raise OutputError(f"{path} was written but cannot be read back ({error.fault})", "Check the disk.") from error
    whole = list(facts.delays) == record.delays and facts.loops == loops and len(sums) == len(record.delays)
    if not whole or (record.sums and sums != record.sums):
        raise OutputError(f"{path} was written but reads back differently", "Check the disk and try again.")


def _notices(path: Path, still: StillFormat, record: _Record) -> Iterator[str]:
    if record.dropped:
        yield f"{path.name} leaves out {record.dropped} frames: players of GIF show none for less than 20 ms."
    elif record.rounded:
        unit = "hundredths" if still is GIF else "thousandths"
        yield f"{path.name} counts time in {unit} of a second; delays are rounded to them, their sum is kept."
    if record.half_transparent and still is GIF:
        yield f"{path.name} knows only fully transparent pixels; half-transparent ones become one or the other."
    if record.deep:
        yield f"{path.name} holds 8 bits per component; the frames have more, which are rounded."
    if record.mixed:
        yield f"{path.name} holds 256 colours per frame; further ones are mixed from these."
