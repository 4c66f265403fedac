"""Runs that keep their frames as files, and people who change them."""

from __future__ import annotations

import cv2
import numpy as np
from PIL import Image

from facefusion.media.encoder import EncoderSettings
from tests.media.clips import decode, noise_planes, planes_of
from tests.pipeline.stage import BrokenError
from tests.pipeline.stage import Stage as LongStage

COUNT = 40
"""Frames of the clips: two whole segments and a half."""
LOSSLESS = EncoderSettings(quality=100, threads=2, options=(("crf", "-1"), ("qp", "0")))
EVERY_FRAME = {number: BrokenError() for number in range(COUNT)}
RED = (255, 0, 0)


def make_stage(folder, *names, **clip):
    return LongStage(folder, *names, **{"stamps": range(0, COUNT * 512, 512), **clip})


def moderate(pixel_format, low, high):
    """Pictures of random codes that stand for colours, as most do not."""
    pictures = [noise_planes(pixel_format, 96, 64, index) for index in range(COUNT)]
    return [[(low + plane % (high - low)).astype(plane.dtype) for plane in planes] for planes in pictures]


def keep(stage, trouble=None, **options):
    """A run that keeps its frames."""
    options.setdefault("frames", "png")
    options.setdefault("encoder", LOSSLESS)
    return stage.run(trouble, keep=True, **options)


def frames_of(stage):
    """Files of frames by index, of the one folder that is kept."""
    [folder] = stage.folders
    return {int(path.stem): path for path in sorted((folder / "frames").iterdir())}


def paint(path, box=(40, 20, 60, 40), colour=RED):
    with Image.open(path) as image:
        changed = image.copy()
    changed.paste(colour, box)
    if path.suffix == ".jpeg":
        changed.save(path, quality=100, subsampling=0)
    else:
        changed.save(path)


def read(path):
    pixels = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    assert pixels is not None
    return pixels


def bt601(planes):
    """Decoded 4:4:4 of limited range as BGR, by the formulas of BT.601."""
    y, u, v = (plane.astype(float) for plane in planes)
    y, u, v = (y - 16) / 219, (u - 128) / 224, (v - 128) / 224
    red, blue = y + 1.402 * v, y + 1.772 * u
    green = (y - 0.299 * red - 0.114 * blue) / 0.587
    return np.clip(np.stack((blue, green, red), -1) * 255, 0, 255)


def differing(first, second):
    """Indices of frames that differ."""
    pairs = zip(first, second, strict=True)
    return [
        index
        for index, (one, other) in enumerate(pairs)
        if any(not np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    ]


def planes(stage):
    return [planes_of(frame) for frame in decode(stage.output)]
