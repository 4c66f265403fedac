"""Taking sound, subtitles, attachments, chapters and tags along into the same file as the new picture.

Tracks are copied packet by packet. Sound that the container cannot hold, or that the user wants otherwise, is encoded
anew; text subtitles are converted to what the container holds. Whatever is changed or left out is said, by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.stream import AttachmentStream, Discard, Stream
from av.subtitles.stream import SubtitleStream

from facefusion.core.report import NotKept
from facefusion.media.chapters import chapters_within
from facefusion.media.container import Container
from facefusion.media.copying import PacketCopier
from facefusion.media.feed import TrackFeed
from facefusion.media.probe import MediaInfo, Track
from facefusion.media.sound_encoder import SoundSettings
from facefusion.media.sound_file import SoundFile
from facefusion.media.sound_line import SLIP
from facefusion.media.sound_track import AddedTrack, add_sound, copied_stream
from facefusion.media.source import open_source
from facefusion.media.span import Span
from facefusion.media.subtitles import SubtitleConverter, conversion_notice
from facefusion.media.tags import copy_description, lost_descriptions, told_tags

COVER_KINDS = {"mjpeg": ("jpg", "image/jpeg"), "png": ("png", "image/png")}
"""Extension and MIME type of a cover, by codec."""


class TrackCopier:
    """Feeds the other tracks of the source to the output, in step with the picture. A context manager."""

    def __init__(
        self,
        info: MediaInfo,
        output: OutputContainer,
        container: Container,
        sound: SoundSettings | None = None,
        replacement: SoundFile | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Add the tracks that the output's container can hold to ``output``.

        Args:
            info: of the source.
            output: not yet started; its first stream is the picture.
            container: the output's kind.
            sound: what is asked of the sound; where none, it is copied.
            replacement: a file whose sound takes the place of the source's.
            tags: of the file, before the source's.
        """
        self._tags = tags or {}
        self.notices: list[str] = []
        self._info = info
        self._output = output
        self._container = container
        self._sound = sound or SoundSettings()
        self._replacement = replacement
        self._start = Fraction(0)
        self._chapters = 0
        self._kinds: dict[int, str] = {}
        self._targets: dict[int, Stream] = {}
        self._stack = ExitStack()
        self._source = self._stack.enter_context(open_source(info.path))
        self._feed = TrackFeed(self._source, output)
        self._other: TrackFeed | None = None
        self._describe_file()
        self._settle_sound()
        for track in info.tracks:
            if not self._add(track):
                self._leave_out(track)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def filled(self, *kinds: str) -> int:
        """How many tracks of these kinds hold anything. Asked after :meth:`finish`."""
        own = sum(kind in kinds for index, kind in self._kinds.items() if index not in self._feed.empty)
        return own + ("audio" in kinds and self._other is not None and not self._other.empty)

    def void(self, *kinds: str) -> int:
        """How many tracks of these kinds hold nothing; some containers drop such a track."""
        own = sum(kind in kinds for index, kind in self._kinds.items() if index in self._feed.empty)
        return own + ("audio" in kinds and self._other is not None and bool(self._other.empty))

    def begin(self, span: Span, length: Fraction, ahead: Fraction = Fraction(0)) -> None:
        """Start to read packets.

        Args:
            span: of the source, that the result shows.
            length: time in the result at which the picture ends, and with it sound from another file.
            ahead: how long the source plays before ``span`` that the container has no place for, in seconds.
        """
        self._start = span.start
        chapters = chapters_within(self._source.chapters(), span, self._tags)
        if chapters:
            self._output.set_chapters(chapters)
        self._chapters = len(chapters)
        if ahead and "audio" in self._kinds.values():
            lost = f"{self._info.path.name} plays for {float(ahead):.3f} s before its picture begins"
            self.notices.append(NotKept(f"{lost}; the output's container cannot hold that."))
        if self._container.sound.with_picture:
            span = self._until_picture_ends(span, length)
        self._feed.begin(span)
        if self._other is not None and self._replacement is not None:
            self._other.begin(self._replacement.span(length))

    def advance(self, time: Fraction) -> None:
        """Write all packets of before ``time`` (in the source)."""
        for feed in self._feeds:
            feed.advance(time - self._start)

    def finish(self) -> None:
        """Write the packets that are left."""
        for feed in self._feeds:
            feed.finish()
            self.notices += feed.notices
        if any(feed.damaged for feed in self._feeds):
            self.notices.append("The sound breaks off early: the source is damaged.")
        self.notices += [
            f"Track {index} holds nothing in this part of the source." for index in sorted(self._feed.empty)
        ]

    def look_for_losses(self, written: Path) -> None:
        """Read the finished file, and note which chapters, tags, languages, titles and roles it lacks."""
        tracks = {index: target.index for index, target in self._targets.items() if index not in self._feed.empty}
        self.notices += lost_descriptions(self._info.path, written, tracks, chapters=self._chapters, told=self._tags)

    @property
    def _feeds(self) -> tuple[TrackFeed, ...]:
        return (self._feed,) if self._other is None else (self._feed, self._other)

    def _describe_file(self) -> None:
        self._output.metadata.update(told_tags(self._source.metadata, self._tags))
        if self._output.streams.video:
            self._describe(self._info.stream, self._output.streams.video[0])

    def _describe(self, index: int, target: Stream) -> None:
        copy_description(self._source.streams[index], target, self._container.muxer, self._tags)
        self._targets[index] = target

    def _until_picture_ends(self, span: Span, length: Fraction) -> Span:
        over = span.start + length
        for index, kind in self._kinds.items():
            stream = self._source.streams[index]
            last = ((stream.start_time or 0) + (stream.duration or 0)) * (stream.time_base or Fraction(0))
            if kind == "audio" and span.end is None and last > over + SLIP:
                lost = (
                    f"Audio track {index} of {self._info.path.name} goes on for {float(last - over):.3f} s after the "
                    "picture; the output's container cannot hold that."
                )
                self.notices.append(NotKept(lost))
        return replace(span, end=over if span.end is None else min(span.end, over))

    def _settle_sound(self) -> None:
        """Take the sound of another file, or none."""
        name = self._info.path.name
        has_sound = any(track.kind == "audio" for track in self._info.tracks)
        if not self._sound.volume:
            if has_sound:
                self.notices.append(f"The sound of {name} is left out, as asked.")
        elif self._replacement is not None:
            self._other = self._open_replacement(self._replacement)
            if has_sound:
                self.notices.append(f"The sound of {self._replacement.path.name} replaces that of {name}.")

    def _open_replacement(self, replacement: SoundFile) -> TrackFeed:
        source = self._stack.enter_context(open_source(replacement.path))
        feed = TrackFeed(source, self._output)
        stream = source.streams[replacement.stream]
        name = f"the sound of {replacement.path.name}"
        added = self._new_sound(stream, name, "mp4", replacement.start) if isinstance(stream, AudioStream) else None
        if added is None:
            self.notices.append(NotKept(f"The output's container cannot hold {name}; it is left out."))
        else:
            feed.add(replacement.stream, added.writer)
        return feed

    def _add(self, track: Track) -> bool:
        """Whether the track is in the output, or is left out on purpose."""
        source = self._source.streams[track.index]
        if track.kind in ("audio", "subtitle") and not track.codec:
            return False  # nothing is known of it
        if isinstance(source, AudioStream):
            if not self._sound.volume or self._replacement is not None:
                return True
            added = self._new_sound(source, self._name(track), self._info.container, self._info.origin)
            return self._take(track, added)
        if isinstance(source, SubtitleStream):
            return self._take(track, self._new_subtitles(source, self._name(track)))
        if isinstance(source, AttachmentStream):
            return self._container.attachments and copied_stream(source, self._output) is not None
        if track.kind == "cover":
            return self._add_cover(track, source)
        return source.discard == Discard.all  # the chapters of MP4 as a track, written anew with them

    def _take(self, track: Track, added: AddedTrack | None) -> bool:
        if added is None:
            return False
        self._feed.add(track.index, added.writer)
        self._kinds[track.index] = track.kind
        self._describe(track.index, added.stream)
        return True

    def _new_sound(self, source: AudioStream, name: str, origin: str, begin: Fraction) -> AddedTrack | None:
        added = add_sound(source, name, self._output, self._container, self._sound, origin=origin, begin=begin)
        if added is not None and added.notice:
            self.notices.append(added.notice)
        return added

    def _new_subtitles(self, source: SubtitleStream, name: str) -> AddedTrack | None:
        target = self._container.subtitles
        if target is None:
            return None
        stream = copied_stream(source, self._output)
        if stream is not None:
            return AddedTrack(stream, PacketCopier(source, stream, self._container))
        try:
            converter = SubtitleConverter(source, self._output, target)
        except ValueError:
            return None
        self.notices.append(conversion_notice(name, source.codec_context.codec.canonical_name, target))
        return AddedTrack(converter.stream, converter)

    def _add_cover(self, track: Track, source: Stream) -> bool:
        """A cover picture is an attachment where the container has them; a stream of one frame would play as video."""
        kind = COVER_KINDS.get(track.codec)
        if kind is None or not (self._container.attachments or self._container.covers):
            return False
        if not self._container.attachments:
            stream = copied_stream(source, self._output)
            if stream is None:
                return False
            copier = PacketCopier(source, stream, self._container)
            return self._take(track, AddedTrack(stream, copier))
        return attach_cover(self._info.path, track, self._output)

    def _name(self, track: Track) -> str:
        return f"{track.kind} track {track.index} of {self._info.path.name}"

    def _leave_out(self, track: Track) -> None:
        source = self._source.streams[track.index]
        said = source.codec_context.codec.canonical_name if track.codec else source.metadata.get("filename", "")
        what = f"{track.kind} track {track.index}" + (f" ({said})" if said else "")
        left_out = f"The output's container cannot hold the {what} of {self._info.path.name}; it is left out."
        self.notices.append(NotKept(left_out))


def attach_cover(path: Path, track: Track, output: OutputContainer) -> bool:
    """Attach the cover of a file to an output whose container has attachments; false where its codec is none of ours.

    Args:
        path: the file.
        track: the cover.
        output: not yet started.
    """
    kind = COVER_KINDS.get(track.codec)
    if kind is None:
        return False
    with open_source(path) as container:
        stream = container.streams[track.index]
        packet = next(container.demux(stream))
        output.add_attachment(stream.metadata.get("filename", f"cover.{kind[0]}"), kind[1], bytes(packet))
    return True
