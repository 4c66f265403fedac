"""Between FFmpeg's frames and pictures, without a copy wherever the format allows."""

from __future__ import annotations

import zlib
from typing import cast

import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import Interpolation

from facefusion.core.values import Picture, Size
from facefusion.media.colour import FULL, LIMITED, ColourDescription
from facefusion.media.orientation import Orientation
from facefusion.media.pixel_format import has_alpha, native_layout, working_format
from facefusion.vision.colour import Matrix, Plane
from facefusion.vision.picture import BgrPicture, YuvPicture

SWSCALE_MATRICES: dict[Matrix, int] = {
    Matrix.BT709: 1,
    Matrix.FCC: 4,
    Matrix.BT601: 5,
    Matrix.SMPTE240M: 7,
    Matrix.BT2020: 9,
}
"""What FFmpeg's scaler calls the matrices."""

SCALER = Interpolation.BICUBIC | Interpolation.ACCURATE_RND | Interpolation.FULL_CHR_H_INT
"""Without the last two FFmpeg's scaler is quicker and off by several levels."""


class DecodedPlanes:
    """The planes of a decoder's frame, read in place.

    The decoder may still refer to the frame while it decodes later ones, so the frame is made writable, which copies
    it together with its side data, before anything is written.
    """

    def __init__(self, frame: VideoFrame) -> None:
        self.frame = frame
        self._colours = 3 if has_alpha(frame.format.name) else len(frame.planes)
        self._planes = plane_views(frame, writable=False)
        self._writable = False

    @property
    def alpha(self) -> Plane | None:
        """The alpha channel, to read."""
        return self._planes[self._colours] if len(self._planes) > self._colours else None

    def planes(self) -> tuple[Plane, ...]:
        """The planes of colour, to read."""
        return self._planes[: self._colours]

    def writable_planes(self) -> tuple[Plane, ...]:
        """The planes of colour of a frame that nobody else refers to."""
        if not self._writable:
            self._planes = ()  # they point into memory that the next line lets go
            self.frame.make_writable()
            self._planes = plane_views(self.frame, writable=True)
            self._writable = True
        return self._planes[: self._colours]


def plane_views(frame: VideoFrame, *, writable: bool) -> tuple[Plane, ...]:
    """The planes of a frame, in place."""
    depth = max(component.bits for component in frame.format.components)
    dtype = np.dtype(np.uint8 if depth <= 8 else np.uint16)
    views = []
    for plane in frame.planes:
        rows = np.frombuffer(cast("memoryview", plane), dtype).reshape(plane.height, plane.line_size // dtype.itemsize)
        view = rows[:, : plane.width]
        view.flags.writeable = writable
        views.append(view)
    return tuple(views)


def picture_of(frame: VideoFrame, colour: ColourDescription, size: Size, orientation: Orientation) -> Picture:
    """The picture of a decoded frame, upright.

    Args:
        frame: as decoded; it belongs to the picture from now on.
        colour: of the stream.
        size: as stored; a frame of another size (the stream changed) is scaled to it.
        orientation: from stored to shown.
    """
    name = working_format(frame.format.name)
    layout = native_layout(name, colour, size)
    if frame.format.name != name or (frame.width, frame.height) != size:
        frame = _converted(frame, name, size, colour)
    if layout is None:
        return _bgr_picture(frame, orientation)
    if orientation.upright and all(plane.line_size > 0 for plane in frame.planes):
        return YuvPicture(DecodedPlanes(frame), layout)
    planes = [orientation.apply(plane) for plane in plane_views(frame, writable=False)]
    alpha = planes.pop() if has_alpha(name) else None
    return YuvPicture(planes, orientation.apply_to_layout(layout, size), alpha)


def checksum(picture: Picture) -> int:
    """CRC-32 of everything that a picture holds, to recognise it again."""
    total = 0
    for plane in _contents(picture):
        total = zlib.crc32(np.ascontiguousarray(plane).data, total)
    return total


def _contents(picture: Picture) -> tuple[Plane, ...]:
    if isinstance(picture, YuvPicture):
        planes = picture.planes
    elif isinstance(picture, BgrPicture):
        planes = (picture.pixels,)
    else:
        planes = (cast("Plane", picture.to_bgr()),)
    alpha = picture.alpha if isinstance(picture, YuvPicture | BgrPicture) else None
    return planes if alpha is None else (*planes, alpha)


def _converted(frame: VideoFrame, name: str, size: Size, colour: ColourDescription) -> VideoFrame:
    """The general conversion, by FFmpeg's scaler, told the stream's matrix and range."""
    coding = colour.coding(8, size.height)
    full = coding.full_range or "yuvj" in frame.format.name
    to_rgb = native_layout(name, colour, size) is None
    converted = frame.reformat(
        width=size.width,
        height=size.height,
        format=name,
        src_colorspace=SWSCALE_MATRICES[coding.matrix],
        dst_colorspace=SWSCALE_MATRICES[coding.matrix],
        src_color_range=FULL if full or frame.format.is_rgb else LIMITED,
        dst_color_range=FULL if full or to_rgb else LIMITED,
        interpolation=SCALER,
    )
    converted.pts, converted.time_base = frame.pts, frame.time_base
    return converted


def _bgr_picture(frame: VideoFrame, orientation: Orientation) -> BgrPicture:
    codes = cast("Plane", frame.to_ndarray())
    if not has_alpha(frame.format.name):
        return BgrPicture(orientation.apply(codes))
    colours, alpha = (cast("Plane", np.ascontiguousarray(part)) for part in (codes[..., :3], codes[..., 3]))
    return BgrPicture(orientation.apply(colours), orientation.apply(alpha))
