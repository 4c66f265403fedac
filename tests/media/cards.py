"""Stand-ins for a graphics card: the processor decodes, and the frames come as a card brings them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, BinaryIO

import av
from av.container import InputContainer
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from facefusion.media.nvdec import BROUGHT_AS, CardError


def brought(frame: VideoFrame) -> VideoFrame:
    """The frame in the order in which a card brings it; one of other kinds as it is."""
    name = BROUGHT_AS.get(frame.format.name)
    return frame if name is None else frame.reformat(format=name)


@dataclass
class FakeCard:
    """A card, and what goes wrong with it."""

    absent: str = ""
    """Why nothing can be opened on it."""
    no_decoder: bool = False
    """PyAV finds no way to decode such a codec on a card."""
    processor_from: int | None = None
    """Number of the frame from which on FFmpeg decodes on the processor, unasked."""
    fails_at: int | None = None
    """Number of the packet at which it fails for good, as when the device is lost."""
    opened: int = 0
    decoded: int = 0
    """Frames that it gave."""
    threads: set[int] = field(default_factory=set)
    """Numbers of threads that it was asked for."""

    def open(self, source: str | BinaryIO) -> InputContainer:
        if self.absent:
            raise CardError(self.absent)
        self.opened += 1
        return av.open(source, "r", metadata_errors="replace")

    def context(self, stream: VideoStream) -> Any:
        return _Context(self, stream.codec_context)


class _Context:
    """What the code under test sees of a decoder."""

    def __init__(self, card: FakeCard, inner: Any) -> None:
        inner.thread_count = 1
        self._card = card
        self._inner = inner
        self._packets = 0
        self.is_hwaccel = not card.no_decoder
        self.name = inner.name
        self.codec = inner.codec
        self.thread_type = inner.thread_type

    @property
    def thread_count(self) -> int:
        return int(self._inner.thread_count)

    @thread_count.setter
    def thread_count(self, count: int) -> None:
        self._card.threads.add(count)

    @property
    def reorder_depth(self) -> int:
        return int(self._inner.reorder_depth)

    def flush_buffers(self) -> None:
        self._inner.flush_buffers()

    def decode(self, packet: Packet[VideoStream] | None) -> list[VideoFrame]:
        card = self._card
        self._packets += 1
        if card.fails_at is not None and self._packets > card.fails_at:
            raise av.error.ExternalError(-542398533, "Generic error in an external library")
        given = []
        for frame in self._inner.decode(packet):
            is_own = card.processor_from is None or card.decoded < card.processor_from
            given.append(brought(frame) if is_own else frame)
            card.decoded += is_own
        return given
