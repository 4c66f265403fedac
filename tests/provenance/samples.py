"""Files of every format, made on the spot."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import av
import numpy as np
from PIL import Image

from facefusion.media.container import CONTAINERS
from facefusion.media.image.details import ImageDetails
from facefusion.media.image.write import write_image
from facefusion.provenance.records import SourceType
from facefusion.provenance.xmp.matroska import DIGITAL_SOURCE_TYPE
from facefusion.vision.picture import BgrPicture

STILLS = (".gif", ".jpg", ".png", ".tiff", ".webp")
ANIMATIONS = (".gif", ".apng", ".webp")
TAGGED = (".mkv", ".webm")
"""Containers whose muxer takes the source type as a tag of its own."""
VIDEOS = (".avi", ".m4v", ".mov", ".mp4", ".wmv")
ENCODERS = {".wmv": "msmpeg4", ".webm": "libvpx-vp9", ".mxf": "mpeg2video", ".mpeg": "mpeg2video", ".mpg": "mpeg2video"}


def noise(seed=0, height=48, width=64):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8))


def still(folder, suffix):
    path = folder / f"still{suffix}"
    noise().save(path, **({"lossless": True} if suffix == ".webp" else {}))
    return path


def animation(folder, suffix):
    path = folder / f"moving{suffix}"
    first, *rest = (noise(seed) for seed in range(4))
    first.save(path, save_all=True, append_images=rest, duration=120, loop=0, lossless=True)
    return path


def written_still(folder, suffix, xmp):
    """A still that this program writes with a packet."""
    path = folder / f"still{suffix}"
    pixels = np.ascontiguousarray(np.asarray(noise()))
    write_image(BgrPicture(pixels), path, quality=90, details=ImageDetails(xmp=xmp))
    return path


def video(path, *, frames=30, sound=True, movflags=None):
    container = CONTAINERS[path.suffix]
    source = np.random.default_rng(3)
    options = dict(container.options) if movflags is None else {"movflags": movflags}
    with av.open(str(path), "w", format=container.muxer, options=options) as file:
        if path.suffix in TAGGED:
            file.metadata[DIGITAL_SOURCE_TYPE] = SourceType.COMPOSITE.value
        stream: Any = file.add_stream(ENCODERS.get(path.suffix, "libx264"), rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        heard: Any = file.add_stream(container.sound.encoder, rate=48_000) if sound else None
        for index in range(frames):
            frame = av.VideoFrame.from_ndarray(source.integers(0, 256, (72, 64), np.uint8), "yuv420p")
            frame.pts = index
            file.mux(stream.encode(frame))
        if heard is not None:
            layout, form = heard.codec_context.layout.name, heard.codec_context.format.name
            if not heard.codec_context.is_open:
                heard.codec_context.open()
            samples = heard.codec_context.frame_size or 1920
            for index in range(20):
                planes = len(av.AudioLayout(layout).channels)
                shape = (planes, samples) if av.AudioFormat(form).is_planar else (1, planes * samples)
                kind = np.float32 if form.startswith("flt") else np.int16
                sound_frame = av.AudioFrame.from_ndarray(np.zeros(shape, kind), form, layout)
                sound_frame.rate, sound_frame.pts = 48_000, index * samples
                sound_frame.time_base = Fraction(1, 48_000)
                file.mux(heard.encode(sound_frame))
            file.mux(heard.encode(None))
        file.mux(stream.encode(None))
    return path
