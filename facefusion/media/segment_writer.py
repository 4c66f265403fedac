"""What encodes a segment: an encoder of this process, or a program."""

from __future__ import annotations

from pathlib import Path

from facefusion.core.stop import StopToken
from facefusion.media.encoding import Encoding
from facefusion.media.external import ExternalEncoder
from facefusion.media.segment import SegmentEncoder, SegmentWriter


def segment_writer(encoding: Encoding, path: Path, stop: StopToken) -> SegmentWriter:
    """A writer of one segment, as the encoding says.

    Args:
        encoding: what the encoder is told.
        path: the file to write.
        stop: asked while a program is waited for.
    """
    return ExternalEncoder(encoding, path, stop) if encoding.external else SegmentEncoder(encoding, path)
