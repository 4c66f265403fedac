"""Looking for the program's watermark in files."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

from facefusion.core.errors import InputError
from facefusion.core.formats import MediaKind
from facefusion.core.values import Picture
from facefusion.media.frame_reader import frame_reader
from facefusion.media.image import read_image
from facefusion.media.probe import probe
from facefusion.provenance.watermark import PAYLOAD, Watermarker, installed_watermarker

FRAMES = 5
"""Of a video that are looked at, from the first on."""


def watermark_reader() -> Callable[[Path], str | None] | None:
    """What looks into the pixels of files; none where that is not installed."""
    marker = installed_watermarker()
    return None if marker is None else lambda path: watermark_in(path, marker)


def watermark_in(path: Path, marker: Watermarker) -> str | None:
    """The program's own watermark, where an image or one of a video's first frames carries it.

    Watermarks of others are passed over: what they stand for, only those know who wrote them.
    """
    try:
        info = probe(path)
        if info.kind is MediaKind.IMAGE:
            return _ours(read_image(path), marker)
        with frame_reader(info, threads=1) as reader:
            found = (_ours(frame.picture, marker) for frame in islice(reader, FRAMES))
            return next((text for text in found if text is not None), None)
    except InputError:
        return None  # no picture can be read, so none carries anything


def _ours(picture: Picture, marker: Watermarker) -> str | None:
    levels = np.ascontiguousarray(picture.to_bgr()[..., ::-1]).astype(np.uint8, copy=False)
    return PAYLOAD if marker.read(levels) == PAYLOAD else None
