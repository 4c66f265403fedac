"""Reading an animated image, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from PIL import Image

from facefusion.core.errors import MediaError
from facefusion.core.values import Frame
from facefusion.media.animation.facts import AnimationFacts, animation_facts
from facefusion.media.damage import Damage
from facefusion.media.image.opening import DAMAGE, SLIPS, opened
from facefusion.media.image.read import picture_of_codes


class AnimationReader:
    """Iterates over the frames as a player shows them: whole, laid over the ones before, upright.

    A context manager for one pass on one thread. Frames are in BGR of 8 bits; all of them have an alpha channel, or
    none has.
    """

    def __init__(self, path: Path, *, start: int = 0, end: int | None = None) -> None:
        """Prepare to read.

        Args:
            path: of the file.
            start: index of the first frame to hand out; those before it are decoded all the same.
            end: index after the last frame; to the end where none.

        Raises:
            MediaError: the file is no animation.
        """
        facts = animation_facts(path)
        if facts is None:
            raise MediaError(f"{path} is no animated image", "Read it as a still image.")
        self.facts: AnimationFacts = facts
        self.damage = Damage()
        self._path = path
        self._start = start
        self._end = facts.frames if end is None else min(end, facts.frames)
        self._frames: Iterator[Frame] | None = None

    def __enter__(self) -> Self:
        self._frames = self._read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._frames = None

    def __iter__(self) -> Iterator[Frame]:
        """Yield the frames; fewer than promised, and the damage noted, where the file breaks off.

        Raises:
            MediaError: not a single frame can be decoded.
        """
        if self._frames is None:
            raise RuntimeError("an AnimationReader is read inside its with block")
        return self._frames

    def _read(self) -> Iterator[Frame]:
        with opened(self._path) as image:
            time = Fraction(0)
            for index in range(self._end):
                if not self._seek(image, index):
                    return
                duration = self.facts.durations[index]
                if index >= self._start:
                    yield self._frame(image, index, time)
                time += duration
            if not self.facts.whole and self._end == self.facts.frames:
                self.damage.ended_early, self.damage.reached = True, self._end

    def _seek(self, image: Image.Image, index: int) -> bool:
        try:
            image.seek(index + self.facts.still_first)
            image.load()
        except (*DAMAGE, *SLIPS):
            if index == 0:
                raise
            self.damage.ended_early = True
            self.damage.reached = index
            return False
        return True

    def _frame(self, image: Image.Image, index: int, time: Fraction) -> Frame:
        codes = np.array(image.convert("RGBA" if self.facts.alpha else "RGB"))
        return Frame(index, time, picture_of_codes(self.facts.orientation.apply(codes)), self.facts.durations[index])
