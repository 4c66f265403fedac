"""Converting text subtitles to what the result's container holds, through FFmpeg's own ASS."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

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
        event = _one_event([cue.ass for cue in cues or () if isinstance(cue, AssSubtitle)])
        if not event:
            return
        begin, over = (round(time / MILLISECOND) for time in left)
        encoded = self._encoder.encode_subtitle(SubtitleSet.create(event, 0, max(over - begin, 1), begin))
        encoded.time_base = MILLISECOND
        encoded.stream = self.stream
        yield encoded

    def finish(self) -> Iterator[Packet[Stream]]:
        """The packets that are still held: none."""
        return iter(())


def _one_event(events: list[bytes]) -> bytes:
    """The events of one packet as one, line by line; nothing where they have no text."""
    texts = [event.split(b",", ASS_FIELDS)[-1] for event in events]
    written = [text for text in texts if text.strip()]
    if not written:
        return b""
    head = events[0].split(b",", ASS_FIELDS)[:-1]
    return b",".join((*head, b"\\N".join(written)))
