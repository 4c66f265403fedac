"""A graphics card that decodes one video, for as long as that goes well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from av.container import InputContainer
from av.video.codeccontext import VideoCodecContext
from av.video.stream import VideoStream

from facefusion.media.nvdec import CardDecoder, CardError, PlanarFrames
from facefusion.media.source import check_file

DAMAGED = "something in it is damaged, and what a card makes of that is its own"


class DecoderCard:
    """Decodes a video on a card until that fails once; from then on the processor does, which is told.

    One thread at a time.
    """

    def __init__(self, card: CardDecoder, path: Path, pixel_format: str, tell: Callable[[str], None]) -> None:
        """Prepare.

        Args:
            card: the way to it.
            path: of the video, which :func:`facefusion.media.nvdec.misfit` says nothing against.
            pixel_format: that the processor decodes it to.
            tell: is told, in a sentence, when the processor takes over.
        """
        self.is_on = True
        self._card = card
        self._path = path
        self._pixel_format = pixel_format
        self._tell = tell

    def open(self) -> InputContainer:
        """Open the video.

        Raises:
            CardError: the card cannot be had.
            MediaError: it is no file that can be read.
        """
        check_file(self._path)
        return self._card.open(str(self._path.absolute()))

    def context(self, stream: VideoStream) -> VideoCodecContext:
        """What decodes a stream of it.

        Raises:
            CardError: the card does not decode it.
        """
        context = self._card.context(stream)
        if not context.is_hwaccel:
            raise CardError(f"it has no decoder for {context.name}")
        return context

    def in_order(self) -> PlanarFrames:
        """What makes the processor's frames of those of a newly opened decoder."""
        return PlanarFrames(self._pixel_format)

    def give_up(self, reason: str) -> None:
        """Leave the rest to the processor; the reason is the end of a sentence."""
        self.is_on = False
        self._tell(f"{self._path.name} is decoded by the processor from here on, not by the card: {reason}.")
