"""What FFmpeg attaches to a decoded frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from av.sidedata.sidedata import SideData
from av.video.frame import VideoFrame


def side_data_of(frame: VideoFrame) -> Mapping[str, bytes] | None:
    """The data by FFmpeg's names, ``DISPLAYMATRIX`` and such.

    None where PyAV refuses to list any, since there is a kind among them that it does not know (EXIF, say).
    """
    try:
        listed = list(cast("Iterable[SideData]", frame.side_data))
        return {data.type.name: bytes(data) for data in listed}
    except ValueError:
        return None
