"""Encoding a segment with the ``ffmpeg`` on the path: raw frames go in through a pipe, packets come out in a file."""

from __future__ import annotations

import queue
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

import av
import ffmpeg
from av.container.core import Flags
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from facefusion.core.errors import FaceFusionError, OutputError
from facefusion.core.stop import POLL_SECONDS, StopToken
from facefusion.core.values import Frame
from facefusion.media.codecs import FULL_CARD, card_options, full_card
from facefusion.media.colour import FULL, LIMITED
from facefusion.media.encoding import Encoding
from facefusion.media.failure import explained
from facefusion.media.ffmpeg_program import device_arguments, find_program, upload_filters
from facefusion.media.frames import plane_views
from facefusion.media.pixel_format import is_rgb, working_format
from facefusion.media.segment import COUNT, FrameStamps, Segment, number_packet

STALL_SECONDS = 120.0
"""A program that takes no frame for so long is given up."""

FRAMES_AHEAD = 2
"""Frames that wait for the pipe."""

LAST_LINES = 5
"""Of what the program says, how much goes into an error."""


class ExternalEncoder:
    """Encodes with a program; a :class:`facefusion.media.segment.SegmentWriter`."""

    def __init__(self, encoding: Encoding, path: Path, stop: StopToken | None = None) -> None:
        """Prepare to write.

        Args:
            encoding: what the encoder is told.
            path: the file to write; the program's own output lies beside it until then.
            stop: asked while the program is waited for.
        """
        self._encoding = encoding
        self._path = path
        self._raw = path.with_name(f"{path.name}.external.nut")
        self._stop = stop or StopToken()
        self._render = encoding.renderer()
        self._times = FrameStamps(encoding.time_base)
        self._frames: queue.Queue[bytes | None] = queue.Queue(FRAMES_AHEAD)
        self._feeder = threading.Thread(target=self._feed, name="ffmpeg-feeder", daemon=True)
        self._finished = False

    def __enter__(self) -> Self:
        self._path.unlink(missing_ok=True)
        self._said: IO[bytes] = tempfile.TemporaryFile()  # closed on leaving; a pipe could fill up and block
        try:
            self._program = subprocess.Popen(
                self._command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                start_new_session=True,  # Ctrl-C is ours to answer
            )
        except OSError as error:
            self._said.close()
            raise OutputError(
                f"ffmpeg cannot be started for {self._encoding.encoder} ({error.strerror})",
                "Install ffmpeg, or choose another --output-video-encoder.",
            ) from error
        self._feeder.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._program.kill()
        self._program.wait()
        with suppress(queue.Empty):  # let the feeder go on to its end
            while True:
                self._frames.get_nowait()
        with suppress(queue.Full):
            self._frames.put_nowait(None)
        self._feeder.join()
        self._said.close()
        self._raw.unlink(missing_ok=True)
        if not self._finished:
            self._path.unlink(missing_ok=True)

    def write(self, frame: Frame) -> None:
        """Encode one frame.

        Raises:
            OutputError: the program ended or takes no frames any more, or the frame's time is not after the last one.
            Stopped: a stop was asked for.
        """
        self._times.add(frame)
        self._put(packed(self._render(frame.picture)))

    def finish(self) -> Segment:
        """Complete the file.

        Raises:
            OutputError: nothing was written, the program failed, or it did not give every frame back.
            Stopped: a stop was asked for.
        """
        self._put(None)
        self._wait_for_end()
        try:
            delay = self._bring_home()
        except (av.FFmpegError, OSError, ValueError) as error:
            raise explained(error, self._path, self._encoding.encoder) from error
        self._finished = True
        return self._times.segment(self._path, delay)

    def _command(self) -> list[str]:
        encoding = self._encoding
        rate = encoding.frame_rate
        source = ffmpeg.input(
            "pipe:0",
            format="rawvideo",
            pixel_format=encoding.pixel_format,
            video_size=tuple(encoding.size),
            framerate=f"{rate.numerator}/{rate.denominator}",
        )
        told = dict(encoding.options) | card_options(encoding.encoder, encoding.device)
        options = {("b:v" if key == "b" else key): value for key, value in told.items()}
        output = ffmpeg.output(
            source,
            f"file:{self._raw.absolute()}",
            format="nut",
            vcodec=encoding.encoder,
            vf=",".join([_tags(encoding), *upload_filters(encoding.encoder, encoding.pixel_format)]),
            threads=encoding.threads,
            vsync="passthrough",
            **options,
        )
        first, *arguments = ffmpeg.compile(output, cmd=find_program() or "ffmpeg", overwrite_output=True)
        quiet = ["-hide_banner", "-nostdin", "-loglevel", "error"]
        return [first, *quiet, *device_arguments(encoding.encoder), *arguments]

    def _feed(self) -> None:
        """Send frames to the program, on a thread of its own; a program that ended is noticed by whoever waits."""
        pipe = cast("IO[bytes]", self._program.stdin)
        with suppress(OSError):
            while (data := self._frames.get()) is not None:
                pipe.write(data)
        with suppress(OSError):
            pipe.close()

    def _put(self, data: bytes | None) -> None:
        begun = time.monotonic()
        while True:
            self._stop.check()
            if self._program.poll() is not None:
                raise self._failure(f"ended with {self._program.returncode}")
            try:
                self._frames.put(data, timeout=POLL_SECONDS)
            except queue.Full:
                self._check_stall(begun)
            else:
                return

    def _wait_for_end(self) -> None:
        begun = time.monotonic()
        while self._program.poll() is None:
            self._stop.check()
            self._check_stall(begun)
            with suppress(subprocess.TimeoutExpired):
                self._program.wait(POLL_SECONDS)
        if self._program.returncode != 0:
            raise self._failure(f"ended with {self._program.returncode}")

    def _check_stall(self, begun: float) -> None:
        if time.monotonic() - begun > STALL_SECONDS:
            raise self._failure(f"took no frame for {STALL_SECONDS:.0f} s")

    def _failure(self, what: str) -> FaceFusionError:
        self._said.seek(0)
        lines = [line.strip() for line in self._said.read().decode(errors="replace").splitlines() if line.strip()]
        full = next((line for line in lines if FULL_CARD in line), None)
        if full is not None:
            return full_card(self._encoding.encoder, full)
        said = f" ({'; '.join(lines[-LAST_LINES:])})" if lines else ""
        return OutputError(
            f"{self._path} cannot be written with {self._encoding.encoder}: ffmpeg {what}{said}",
            "Choose another --output-video-encoder.",
        )

    def _bring_home(self) -> int:
        """Copy the program's packets into the segment under stamps that number the frames; the greatest delay."""
        with av.open(str(self._raw.absolute())) as source:
            times = sorted(packet.pts for packet in _packets(source.streams.video[0]) if packet.pts is not None)
        if not times or len(times) != len(self._times.stamps):
            raise OutputError(
                f"{self._encoding.encoder} gave {len(times)} of {len(self._times.stamps)} frames back",
                "Choose another --output-video-encoder.",
            )
        ranks = {stamp: rank for rank, stamp in enumerate(times)}
        delay = 0
        with (
            av.open(str(self._raw.absolute())) as source,
            av.open(str(self._path.absolute()), "w", format=self._encoding.segment_muxer) as output,
        ):
            output.flags |= cast("int", Flags.bitexact.value)
            stream = output.add_stream_from_template(source.streams.video[0], opaque=True)
            stream.time_base = COUNT
            for number, packet in enumerate(_packets(source.streams.video[0])):
                rank = ranks[cast("int", packet.pts)]
                number_packet(packet, rank, number)
                packet.stream = stream
                output.mux_one(packet)
                delay = max(delay, number - rank)
        return delay


def _packets(stream: VideoStream) -> list[Packet[VideoStream]]:
    container = cast("av.container.InputContainer", stream.container)
    return [packet for packet in container.demux(stream) if packet.size]


def _tags(encoding: Encoding) -> str:
    """The filter that says what raw frames cannot say of themselves."""
    colour = encoding.colour
    ranges = {LIMITED: "limited", FULL: "full"}
    parts = [f"range={ranges[colour.range]}"] if colour.range in ranges else []
    parts += [f"colorspace={colour.matrix}", f"color_primaries={colour.primaries}", f"color_trc={colour.transfer}"]
    aspect = encoding.sample_aspect
    return f"setparams={':'.join(parts)},setsar={aspect.numerator}/{aspect.denominator}"


def packed(frame: VideoFrame) -> bytes:
    """A frame's planes one after the other, rows without padding, as FFmpeg's ``rawvideo`` has them."""
    if working_format(frame.format.name) == frame.format.name and not is_rgb(frame.format.name):
        return b"".join(plane.tobytes() for plane in plane_views(frame, writable=False))
    return frame.to_ndarray().tobytes()
