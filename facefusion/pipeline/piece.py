"""The segment that is being made."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from facefusion.core.stop import StopToken
from facefusion.media.encoding import Encoding
from facefusion.media.segment import Segment, SegmentWriter
from facefusion.media.segment_writer import segment_writer
from facefusion.pipeline.frame_files import FrameFile
from facefusion.pipeline.frames import FrameResult
from facefusion.pipeline.outcome import Outcome
from facefusion.pipeline.pace import Pace


class Piece:
    """The segment that is being written, with its counts. A context manager; the file is made with the first frame."""

    def __init__(self, encoding: Encoding, path: Path, stop: StopToken) -> None:
        self.outcome = Outcome()
        self.files: dict[int, FrameFile] = {}
        """Of the frames that were written as images, by index."""
        self._stop = stop
        self._encoding = encoding
        self._path = path
        self._stack = ExitStack()
        self._writer: SegmentWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def write(self, result: FrameResult, pace: Pace) -> None:
        """Encode a finished frame, as often as it is shown."""
        if self._writer is None:
            self._writer = self._stack.enter_context(segment_writer(self._encoding, self._path, self._stop))
        places = pace.places(result.frame)
        for time, duration in places:
            self._writer.write(replace(result.frame, time=time, duration=duration))
        self.outcome.count(result)
        if result.file is not None:
            self.files[result.frame.index] = result.file
        self.outcome.repeated_frames += len(places) - 1

    def finish(self) -> Segment | None:
        """Complete the file, and let go of the encoder and all that it holds; none where no frame came."""
        if self._writer is None:
            return None
        segment = self._writer.finish()
        self._writer = None
        self._stack.close()
        return segment
