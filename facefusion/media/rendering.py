"""From pictures to the frames that an encoder takes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import cast

import cv2
import numpy as np
from av.video.frame import VideoFrame

from facefusion.core.values import Picture, Size
from facefusion.media.colour import FULL, LIMITED, ColourDescription
from facefusion.media.frames import SCALER, SWSCALE_MATRICES, DecodedPlanes, plane_views
from facefusion.media.pixel_format import (
    depth_of,
    has_alpha,
    is_rgb,
    native_layout,
    opaque,
    planar_name,
    working_format,
)
from facefusion.media.tonemap import ToneMap, ToneMapper
from facefusion.vision.colour import Plane
from facefusion.vision.dynamic_range import DynamicRange
from facefusion.vision.picture import SIXTEEN_BIT_STEP, BgrPicture, Layout, YuvPicture


class FrameRenderer:
    """Makes the frame to encode of each picture. One thread at a time.

    A decoder's frame of the right format is handed on as it is, written to or not; planes of our own are copied into a
    new frame. Between BGR and YUV the conversion is our own, other changes of format are FFmpeg's scaler's.
    """

    def __init__(
        self,
        name: str,
        size: Size,
        colour: ColourDescription,
        *,
        tone_map: ToneMap | None = None,
        source_colour: ColourDescription | None = None,
    ) -> None:
        """Prepare to render.

        Args:
            name: FFmpeg's name of the pixel format.
            size: of the frames; the right and bottom border of larger pictures is cut.
            colour: of the frames.
            tone_map: how high dynamic range becomes standard.
            source_colour: of the pictures, where they are tone-mapped.
        """
        self._name = name
        self._opaque = opaque(name)
        self._size = size
        self._colour = colour
        self._mapper = None if tone_map is None else ToneMapper(tone_map, source_colour or colour, self._opaque)

    def __call__(self, picture: Picture) -> VideoFrame:
        """The frame for a picture, which must not change any more."""
        if (frame := self._decoded(picture, self._name)) is not None:
            return frame
        alpha = _alpha_of(picture)
        if self._name == "bgra":
            return self._packed(picture, alpha)
        if has_alpha(self._name):
            return self._joined(self._rendered(picture), alpha, picture.bit_depth)
        return self._rendered(picture if alpha is None else over_black(picture, alpha))

    def _rendered(self, picture: Picture) -> VideoFrame:
        """The frame without alpha."""
        if self._mapper is not None:
            own = self._as_planes(picture) if isinstance(picture, YuvPicture) else self._as_bgr(picture)
            own.pts, own.time_base = 0, Fraction(1)
            return self._mapper(own)
        if isinstance(picture, YuvPicture) and not is_rgb(self._opaque):
            return self._reordered(picture)
        layout = native_layout(working_format(self._opaque), self._colour, picture.size)
        if layout is not None:
            layout = plain(layout)  # interleaved BGR holds the codes of its stream, whatever their range
            pixels = picture.to_bgr(as_float=picture.bit_depth > 8)
            grey = self._opaque.startswith("gray")
            return self._reordered(YuvPicture.from_bgr(pixels, layout, grey=grey))
        return _reformatted(self._as_bgr(picture), self._opaque)

    def _decoded(self, picture: Picture, name: str) -> VideoFrame | None:
        """The decoder's frame, where it can be handed on."""
        if self._mapper is not None or not isinstance(picture, YuvPicture) or picture.size != self._size:
            return None
        if not isinstance(picture.store, DecodedPlanes):
            return None
        frame = picture.store.frame
        return frame if frame.format.name.replace("yuvj", "yuv") == name else None

    def _reordered(self, picture: YuvPicture) -> VideoFrame:
        own = planar_name(picture.layout, grey=picture.grey)
        frame = self._decoded(picture, own) or self._as_planes(picture)
        if own == self._opaque.replace("yuvj", "yuv"):
            return frame
        coding = picture.layout.coding
        range_ = FULL if coding.full_range else LIMITED
        matrix = SWSCALE_MATRICES[coding.matrix]
        return frame.reformat(
            format=self._opaque,
            src_colorspace=matrix,
            dst_colorspace=matrix,
            src_color_range=range_,
            dst_color_range=range_,
            interpolation=SCALER,
        )

    def _as_planes(self, picture: YuvPicture) -> VideoFrame:
        """A frame of our own with the picture's planes."""
        frame = VideoFrame(self._size.width, self._size.height, planar_name(picture.layout, grey=picture.grey))
        for index, (view, plane) in enumerate(zip(plane_views(frame, writable=True), picture.planes, strict=True)):
            part = picture.layout.plane_size(index, self._size)
            view[...] = plane[: part.height, : part.width]
        return frame

    def _as_bgr(self, picture: Picture) -> VideoFrame:
        """A frame of our own in interleaved BGR, of 16 bits where the picture is deep and the result may be so."""
        codes: Plane
        if isinstance(picture, YuvPicture):
            picture = YuvPicture(picture.planes, plain(picture.layout))
        if isinstance(picture, BgrPicture):
            codes = picture.pixels
        elif picture.bit_depth > 8 and (self._mapper is not None or depth_of(self._opaque) > 8):
            deep = picture.to_bgr(as_float=True) * np.float32(SIXTEEN_BIT_STEP)
            codes = np.rint(deep).astype(np.uint16)
        else:
            codes = cast("Plane", picture.to_bgr())
        shown = cast("Plane", np.ascontiguousarray(codes[: self._size.height, : self._size.width]))
        return VideoFrame.from_ndarray(shown, format="bgr24" if shown.dtype == np.uint8 else "bgr48le")

    def _packed(self, picture: Picture, alpha: Plane | None) -> VideoFrame:
        """Interleaved BGR and alpha of 8 bits."""
        height, width = self._size.height, self._size.width
        codes = np.full((height, width, 4), 255, np.uint8)
        codes[..., :3] = _eight_bits(cast("Plane", picture.to_bgr()), picture.bit_depth)[:height, :width]
        if alpha is not None:
            codes[..., 3] = _eight_bits(alpha, picture.bit_depth)[:height, :width]
        return VideoFrame.from_ndarray(codes, format="bgra")

    def _joined(self, colours: VideoFrame, alpha: Plane | None, alpha_depth: int) -> VideoFrame:
        """One frame of colour and alpha; opaque where the picture has none."""
        frame = VideoFrame(self._size.width, self._size.height, self._name)
        *planes, last = plane_views(frame, writable=True)
        for target, given in zip(planes, plane_views(colours, writable=False), strict=True):
            target[...] = given
        peak = (1 << depth_of(self._name)) - 1
        if alpha is None:
            last[...] = peak
            return frame
        scale = np.float32(peak / ((1 << alpha_depth) - 1))
        last[...] = np.rint(alpha[: self._size.height, : self._size.width] * scale)
        return frame


def plain(layout: Layout) -> Layout:
    """The layout under which high dynamic range is not brought to that of a display."""
    return replace(layout, coding=replace(layout.coding, dynamic_range=DynamicRange.STANDARD))


def _alpha_of(picture: Picture) -> Plane | None:
    return picture.alpha if isinstance(picture, YuvPicture | BgrPicture) else None


def _eight_bits(codes: Plane, bit_depth: int) -> Plane:
    if codes.dtype == np.uint8:
        return codes
    return cast("Plane", np.rint(codes * np.float32(255 / ((1 << bit_depth) - 1))).astype(np.uint8))


def _reformatted(frame: VideoFrame, name: str) -> VideoFrame:
    return frame if frame.format.name == name else frame.reformat(format=name, interpolation=SCALER)


def over_black(picture: Picture, alpha: Plane) -> Picture:
    """The picture as it looks in front of black, without its alpha channel.

    Args:
        picture: planar YUV or BGR, with colours that are not yet multiplied by alpha, as VP9 and PNG have them.
        alpha: height x width, of the picture's bit depth; 0 is clear.
    """
    share = alpha.astype(np.float32) / np.float32((1 << picture.bit_depth) - 1)
    if not isinstance(picture, YuvPicture):
        pixels = picture.pixels if isinstance(picture, BgrPicture) else cast("Plane", picture.to_bgr())
        return BgrPicture(cast("Plane", np.rint(pixels * share[..., None]).astype(pixels.dtype)))
    return YuvPicture(
        [_dimmed(plane, index, share, picture.layout) for index, plane in enumerate(picture.planes)],
        picture.layout,
    )


def _dimmed(plane: Plane, index: int, share: Plane | np.ndarray, layout: Layout) -> Plane:
    """A plane drawn to the code of black by as much as the picture is clear there."""
    coding = layout.coding
    black = coding.neutral if index else (0 if coding.full_range else 16 << (coding.bit_depth - 8))
    height, width = plane.shape
    here = share if share.shape == plane.shape else cv2.resize(share, (width, height), interpolation=cv2.INTER_AREA)
    return cast("Plane", np.rint(black + (plane.astype(np.float32) - black) * here).astype(plane.dtype))
