"""Converting text subtitles to what the result's container holds, through FFmpeg's own ASS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TypeAlias

import av
from av.container import OutputContainer
from av.packet import Packet
from av.stream import Stream
from av.subtitles.codeccontext import SubtitleCodecContext
from av.subtitles.stream import SubtitleStream
from av.subtitles.subtitle import AssSubtitle, SubtitleSet

from facefusion.media.copying import times_of
from facefusion.media.span import Span

MILLISECOND = Fraction(1, 1000)

ASS_FIELDS = 8
"""Commas before the text of an ASS event as FFmpeg passes it on."""

STYLED = ("ass", "ssa")

STYLES_KEPT = {
    "mov_text": "bold, italics, underlining, colour and size",
    "webvtt": "bold, italics and underlining",
    "subrip": "bold, italics, underlining, font and colour",
}
"""What is kept of an ASS track's looks, by the codec that it is converted to."""


def conversion_notice(name: str, codec: str, target: str) -> str:
    """What to tell the user about a converted track."""
    kept = f"; of its looks, {STYLES_KEPT[target]} are kept" if codec in STYLED else ""
    return f"The output's container cannot hold {codec}: {name} is converted to {target}{kept}."


class SubtitleConverter:
    """Decodes the cues of one text track and encodes them for another container, clipped and moved."""

    def __init__(self, source: SubtitleStream, output: OutputContainer, codec: str) -> None:
        """Add a track to ``output``.

        Args:
            source: the track to convert.
            output: not yet started.
            codec: ``mov_text``, ``webvtt`` or ``subrip``.

        Raises:
            ValueError: the track is no text, or the container cannot hold the codec.
        """
        decoder = source.codec_context
        if not decoder.codec.text_sub:
            raise ValueError(f"{decoder.name} is no text")
        decoder.open(strict=False)
        stream = output.add_stream(codec)
        encoder = stream.codec_context
        if not isinstance(encoder, SubtitleCodecContext):
            raise ValueError(f"{codec} is no subtitle encoder")
        encoder.subtitle_header = decoder.subtitle_header
        encoder.time_base = stream.time_base = MILLISECOND
        encoder.open(strict=False)
        self.stream: Stream = stream
        self._encoder = encoder
        self._decoder = decoder
        self._source = source
        self._span = Span()
        self._screen = _Screen(shares=codec == "mov_text")
        self._damaged = 0

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about the track. Asked after :meth:`finish`."""
        if not self._damaged:
            return ()
        return (f"{self._damaged} cues of subtitle track {self._source.index} could not be read and are left out.",)

    def begin(self, span: Span) -> None:
        """Start anew with the part of the source that is kept."""
        self._span = span

    def write(self, packet: Packet[Stream]) -> Iterator[Packet[Stream]]:
        """The cue for the output; none where it is empty or lies outside."""
        left = self._span.clip(*times_of(packet))
        if left is None:
            return
        try:
            cues = self._decoder.decode2(packet)
        except (av.FFmpegError, UnicodeDecodeError):
            self._damaged += 1
            return
        events = [cue.ass for cue in cues or () if isinstance(cue, AssSubtitle)]
        if _one_event(events):
            begin, over = (round(time / MILLISECOND) for time in left)
            yield from self._encode(self._screen.show(begin, max(over, begin + 1), events))

    def finish(self) -> Iterator[Packet[Stream]]:
        """The cues that are still shown."""
        return self._encode(self._screen.clear())

    def _encode(self, shown: Iterable[_Shown]) -> Iterator[Packet[Stream]]:
        for begin, over, events in shown:
            text = SubtitleSet.create(_one_event(events), 0, over - begin, begin)
            encoded = self._encoder.encode_subtitle(text)
            encoded.time_base = MILLISECOND
            encoded.stream = self.stream
            yield encoded


_Shown: TypeAlias = tuple[int, int, list[bytes]]
"""From when to when, and what."""


class _Screen:
    """What is shown at a time; for a container that shows one cue at a time, cues that overlap share one."""

    def __init__(self, *, shares: bool) -> None:
        self._shares = shares
        self._shown: list[tuple[int, list[bytes]]] = []
        """When each cue is over, and its events."""
        self._now = 0

    def show(self, begin: int, over: int, events: list[bytes]) -> Iterator[_Shown]:
        """Add a cue, no earlier than the one before; what is settled by that."""
        if not self._shares:
            yield begin, over, events
            return
        yield from self._until(begin)
        self._shown.append((over, events))
        self._now = begin

    def clear(self) -> Iterator[_Shown]:
        """What is left."""
        yield from self._until(max((over for over, _ in self._shown), default=0))

    def _until(self, time: int) -> Iterator[_Shown]:
        while self._shown and self._now < time:
            over = min(time, *(over for over, _ in self._shown))
            yield self._now, over, [event for _, events in self._shown for event in events]
            self._now = over
            self._shown = [cue for cue in self._shown if cue[0] > over]


def _one_event(events: list[bytes]) -> bytes:
    """The events of one packet as one, line by line; nothing where they have no text."""
    texts = [event.split(b",", ASS_FIELDS)[-1] for event in events]
    written = [text for text in texts if text.strip()]
    if not written:
        return b""
    head = events[0].split(b",", ASS_FIELDS)[:-1]
    return b",".join((*head, b"\\N".join(written)))
