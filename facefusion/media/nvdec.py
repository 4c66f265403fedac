"""Decoding on an NVIDIA card: which videos it takes, and whether it gives the frames that the processor would.

Only codecs whose standard says every bit of a decoded frame are taken. MPEG-2 and MPEG-4 leave the rounding of their
transform open; PyAV decodes AV1 with dav1d, which uses no card.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import BinaryIO, Protocol, cast

import av
import numpy as np
from av.codec.hwaccel import HWAccel
from av.container import InputContainer
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream

from facefusion.core.values import Size
from facefusion.media.demuxers import READING
from facefusion.media.ffmpeg_log import first_of, overheard
from facefusion.media.frames import plane_views

BROUGHT_AS: Mapping[str, str] = {"yuv420p": "nv12", "yuvj420p": "nv12", "yuv420p10le": "p010le"}
"""Format in which a card brings what the processor decodes to a planar one; the same numbers in another order."""

TRIALS: Mapping[tuple[str, str], str] = {
    ("h264", "yuv420p"): "libx264",
    ("hevc", "yuv420p"): "libx265",
    ("hevc", "yuv420p10le"): "libx265",
    ("vp9", "yuv420p"): "libvpx-vp9",
}
"""Codecs and depths that cards are tried with, and what makes the clip for it."""

TRIAL_SIDE = 256
"""Pixels; no card of any codec asks for more."""
TRIAL_FRAMES = 4
OPTIONS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("hevc", "yuv420p"): {"preset": "ultrafast", "x265-params": "log-level=none:pools=1:frame-threads=1"},
    ("hevc", "yuv420p10le"): {"preset": "ultrafast", "x265-params": "log-level=none:pools=1:frame-threads=1"},
    ("vp9", "yuv420p"): {"deadline": "realtime", "cpu-used": "8"},
}
"""What makes the clips quickly and without a word."""


class CardError(Exception):
    """A card does not decode something after all; the text says why, as the end of a sentence."""


class CardDecoder(Protocol):
    """A way to FFmpeg's decoders on a card."""

    def open(self, source: str | BinaryIO) -> InputContainer:
        """Open a media file so that its streams are decoded on the card.

        Raises:
            CardError: the card cannot be had.
        """

    def context(self, stream: VideoStream) -> VideoCodecContext:
        """What decodes a stream of it."""


class Nvdec:
    """NVDEC of one card. Its frames are brought to the memory of the processor as soon as they are decoded.

    Each open file has a CUDA context of its own: FFmpeg cannot share that of ONNX Runtime, which it finds begun with
    other flags.
    """

    def __init__(self, device: int) -> None:
        """Prepare.

        Args:
            device: number of the card as CUDA counts.
        """
        self._device = device

    def open(self, source: str | BinaryIO) -> InputContainer:
        """See :class:`CardDecoder`."""
        # What it cannot decode FFmpeg decodes on the processor, unasked: the format of the frames tells.
        card = HWAccel("cuda", device=self._device, allow_software_fallback=True)
        try:
            return av.open(source, "r", metadata_errors="replace", container_options=READING, hwaccel=card)
        except (av.FFmpegError, RuntimeError) as error:
            raise CardError(str(getattr(error, "strerror", None) or error)) from error

    def context(self, stream: VideoStream) -> VideoCodecContext:
        """See :class:`CardDecoder`."""
        return stream.codec_context


class PlanarFrames:
    """Puts a card's frames in order: what comes out is what the processor's decoder would have given.

    One thread at a time.
    """

    def __init__(self, pixel_format: str) -> None:
        """Prepare.

        Args:
            pixel_format: that the processor's decoder gives.
        """
        self._pixel_format = pixel_format
        self._brought_as = BROUGHT_AS[pixel_format]
        self._reformatter = VideoReformatter()

    def __call__(self, frame: VideoFrame) -> VideoFrame:
        """The planar frame, with the same time, marks and attached data.

        Raises:
            CardError: the frame does not come from the card, or in another format than the stream began with.
        """
        if frame.format.name != self._brought_as:
            raise CardError("FFmpeg finds it unfit for a stream of this profile and size")
        return self._reformatter.reformat(frame, format=self._pixel_format, threads=1)


def misfit(codec: str, pixel_format: str, size: Size, *, alpha: bool) -> str:
    """Why a video is none that cards decode bit by bit alike; empty where it is one.

    Args:
        codec: FFmpeg's name.
        pixel_format: that the processor's decoder gives.
        size: as stored.
        alpha: there is an alpha channel.
    """
    if (codec, pixel_format.replace("yuvj", "yuv")) not in TRIALS or alpha:
        return f"cards do not decode {codec} in {pixel_format}{' with an alpha channel' if alpha else ''}"
    if size.width % 2 or size.height % 2:
        return f"cards decode even sizes only, not {size.width} x {size.height}"
    return ""


_DECODED: set[tuple[int, str, str]] = set()
"""Cards and kinds of video that went together once."""


def obstacle(device: int, codec: str, pixel_format: str) -> str:
    """Why a card cannot decode a kind of video; empty where it can.

    Tried out until it works, which is remembered: a card whose memory is full now may have some left for the next run.

    Args:
        device: number of the card as CUDA counts.
        codec: one of :data:`TRIALS`.
        pixel_format: likewise.
    """
    kind = device, codec, pixel_format
    if kind in _DECODED:
        return ""
    reason = try_out(Nvdec(device), codec, pixel_format)
    if not reason:
        _DECODED.add(kind)
    return reason


def try_out(card: CardDecoder, codec: str, pixel_format: str) -> str:
    """Decode a small clip on a card and compare its frames, bit by bit, with the processor's.

    Args:
        card: the way to it.
        codec: one of :data:`TRIALS`.
        pixel_format: likewise.

    Returns:
        Why it cannot be used; empty where it can.
    """
    encoder = TRIALS[codec, pixel_format]
    if encoder not in av.codecs_available:
        return f"there is no {encoder} to try it with"
    clip = _clip(codec, pixel_format)
    with av.open(io.BytesIO(clip), "r") as container:
        wanted = [_planes(frame) for frame in container.decode(video=0)]
    complaints: list[str] = []
    try:
        with overheard(complaints):
            given = [_planes(frame) for frame in _decoded(card, clip, PlanarFrames(pixel_format))]
    except (CardError, av.FFmpegError) as error:
        return first_of(complaints, error)
    return "" if _equal(given, wanted) else "its frames are not those of the processor's decoder"


def _decoded(card: CardDecoder, clip: bytes, planar: PlanarFrames) -> Iterator[VideoFrame]:
    with card.open(io.BytesIO(clip)) as container:
        stream = container.streams.video[0]
        context = card.context(stream)
        context.thread_count = 1
        packets = (packet for packet in container.demux(stream) if packet.size)
        for packet in itertools.chain(packets, (None,)):
            for frame in context.decode(packet):
                yield planar(frame)


def _planes(frame: VideoFrame) -> list[np.ndarray]:
    return [np.array(plane) for plane in plane_views(frame, writable=False)]


def _equal(given: Sequence[Sequence[np.ndarray]], wanted: Sequence[Sequence[np.ndarray]]) -> bool:
    pairs = list(zip(given, wanted, strict=False))
    return len(given) == len(wanted) and all(
        np.array_equal(one, other) for planes, others in pairs for one, other in zip(planes, others, strict=True)
    )


def _clip(codec: str, pixel_format: str) -> bytes:
    """A few frames of noise that moves, so that they refer to each other."""
    kind = codec, pixel_format
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as output:
        stream = cast(
            "VideoStream", output.add_stream(TRIALS[kind], rate=Fraction(25), options=dict(OPTIONS.get(kind, {})))
        )
        stream.width = stream.height = TRIAL_SIDE
        stream.pix_fmt = pixel_format
        for index in range(TRIAL_FRAMES):
            frame = VideoFrame(TRIAL_SIDE, TRIAL_SIDE, pixel_format)
            top = 1 << max(component.bits for component in frame.format.components)
            for plane in plane_views(frame, writable=True):
                noise = np.random.default_rng(0).integers(0, top, plane.shape, plane.dtype)
                plane[...] = np.roll(noise, 2 * index, axis=1)
            frame.pts = index
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return file.getvalue()
