"""Writing a clip: H.264 and AAC in MP4, the same bytes each time on the same platform."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import cast

import av
import numpy as np
from av.audio.stream import AudioStream
from av.video.reformatter import ColorRange, Colorspace
from av.video.stream import VideoStream

from scripts.assets.portrait import Image
from scripts.assets.voice import SAMPLE_RATE, Sound

_BT709 = 1
_LIMITED = 1
_AUDIO_BITS_PER_SECOND = 96_000
_AUDIO_FRAME = 1024
# x264's output depends on the number of threads, so it is never the machine's.
_THREADS = 2


@dataclass(frozen=True, slots=True)
class ClipFormat:
    """What a clip is encoded as. Its width is 16/9 of its height."""

    height: int
    rate: int
    """Frames per second."""
    quality: int
    """x264's constant rate factor: smaller is better and larger."""

    @property
    def width(self) -> int:
        """In pixels: 16/9 of the height to the nearest even number."""
        return round(self.height * 8 / 9) * 2


class ClipWriter:
    """Writes one clip beside ``path`` and moves it there when it is whole."""

    def __init__(self, path: Path, shape: ClipFormat) -> None:
        self._path = path
        self._part = path.with_name(f".{path.name}.part")
        self._container = av.open(str(self._part), "w", format="mp4", options={"movflags": "+faststart"})
        # PyAV types the value of this flag as the flag itself.
        self._container.flags |= cast("int", av.container.Flags.bitexact.value)
        self._video = self._add_video(shape)
        self._audio = self._add_audio()
        self._count = 0

    def _add_video(self, shape: ClipFormat) -> VideoStream:
        options = {"crf": str(shape.quality), "preset": "slow", "threads": str(_THREADS)}
        stream = self._container.add_stream("libx264", rate=shape.rate, options=options)
        stream.width, stream.height, stream.pix_fmt = shape.width, shape.height, "yuv420p"
        context = stream.codec_context
        context.color_range = _LIMITED
        context.colorspace = context.color_primaries = context.color_trc = _BT709
        return stream

    def _add_audio(self) -> AudioStream:
        stream = self._container.add_stream("aac", rate=SAMPLE_RATE, layout="stereo")
        stream.bit_rate = _AUDIO_BITS_PER_SECOND
        return stream

    def add(self, picture: Image) -> None:
        """Encode the next picture, of the clip's size."""
        frame = av.VideoFrame.from_ndarray(picture, format="bgr24").reformat(
            format="yuv420p",
            src_color_range=ColorRange.JPEG,
            dst_colorspace=Colorspace.ITU709,
            dst_color_range=ColorRange.MPEG,
            interpolation="BICUBIC",
        )
        frame.pts = self._count
        frame.time_base = 1 / self._video.codec_context.framerate
        self._count += 1
        self._container.mux(self._video.encode(frame))

    def add_sound(self, sound: Sound) -> None:
        """Encode the whole sound track."""
        for start in range(0, sound.shape[1], _AUDIO_FRAME):
            block = np.ascontiguousarray(sound[:, start : start + _AUDIO_FRAME])
            frame = av.AudioFrame.from_ndarray(block, format="fltp", layout="stereo")
            frame.sample_rate, frame.pts = SAMPLE_RATE, start
            self._container.mux(self._audio.encode(frame))
        self._container.mux(self._audio.encode(None))

    def __enter__(self) -> ClipWriter:
        """The writer is open from its construction on."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish the clip, or drop it after a failure."""
        if kind is None:
            self._container.mux(self._video.encode(None))
        self._container.close()
        if kind is None:
            self._part.replace(self._path)
        else:
            # Nothing is on disk before the first packet.
            self._part.unlink(missing_ok=True)
