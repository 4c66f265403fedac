"""What FFmpeg attaches to a decoded frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from av.sidedata.sidedata import SideData
from av.video.frame import VideoFrame

NAMING = frozenset(("apng", "png"))
"""Codecs that name what they attach (a profile, that is). PyAV 18 frees such a name once with the frame and once by
itself, which ends the process."""


def side_data_of(frame: VideoFrame, codec: str) -> Mapping[str, bytes] | None:
    """The data by FFmpeg's names, ``DISPLAYMATRIX`` and such.

    None where they cannot be listed: of some codecs, and where there is a kind among them that PyAV does not know, such
    as EXIF.

    Args:
        frame: as it was decoded.
        codec: FFmpeg's name of its decoder.
    """
    if codec in NAMING:
        return None
    try:
        listed = list(cast("Iterable[SideData]", frame.side_data))
        return {data.type.name: bytes(data) for data in listed}
    except ValueError:
        return None
