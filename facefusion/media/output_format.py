"""Which pixel format a video is written in, and what that does to the picture."""

from __future__ import annotations

from dataclasses import dataclass, replace

import av

from facefusion.core.errors import OptionError
from facefusion.core.report import NotKept
from facefusion.core.values import Size
from facefusion.media.codecs import HARDWARE, offered_formats
from facefusion.media.colour import FULL, RGB, ColourDescription
from facefusion.media.container import Container
from facefusion.media.encoder import COMPATIBLE_FORMAT, RAW, SOURCE_FORMAT
from facefusion.media.pixel_format import (
    depth_of,
    has_alpha,
    is_rgb,
    native_layout,
    nearest,
    opaque,
    planar_name,
    working_format,
)
from facefusion.media.probe import MediaInfo
from facefusion.media.tonemap import SDR, TRANSFERS, ToneMap
from facefusion.vision.picture import CENTRE, LEFT, TOP_LEFT, Layout, Siting

WITH_ALPHA = "yuva420p"
"""The one format with an alpha channel that players of WebM show."""
ALPHA_ENCODERS = ("libvpx-vp9",)
ALPHA_MUXERS = ("webm", "matroska")

PACKED, PACKED_ALPHA = "bgr0", "bgra"
"""RGB of 8 bits as FFV1 takes it."""

RAW_FORMATS = {"avi": ("yuv420p",), "mov": ("rgb24",)}
"""What containers hold of raw video, by muxer."""

HDR_DEPTH = 10
"""Bits per component without which PQ and HLG show steps (ITU-R BT.2100)."""

PLAYABLE: dict[str, tuple[str, ...]] = {
    "H.264": ("yuv420p", "nv12", "gray"),
    "HEVC": ("yuv420p", "nv12", "yuv420p10le", "p010le"),
    "VP9": ("yuv420p", WITH_ALPHA),
    "AV1": ("yuv420p", "nv12", "yuv420p10le", "p010le"),
}
"""Formats within the profiles that common players and their hardware decode: High, Main and Main 10, 0, Main."""

LOCATIONS: dict[Siting, str] = {
    CENTRE: "center",
    TOP_LEFT: "topleft",
    Siting(0.5, 0.0): "top",
    Siting(0.0, 1.0): "bottomleft",
    Siting(0.5, 1.0): "bottom",
}
"""FFmpeg's names of where chroma lies; left is what is meant where nothing is said."""


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """How pictures are coded."""

    name: str
    """FFmpeg's name of the pixel format."""
    colour: ColourDescription
    chroma_location: str | None = None
    """FFmpeg's name; none for the usual one."""
    tone_map: ToneMap | None = None
    notices: tuple[str, ...] = ()


def choose_format(source: MediaInfo, size: Size, wish: str, encoder: str, container: Container) -> OutputFormat:
    """Settle the format.

    Args:
        source: the video that depth, subsampling and colour are taken from.
        size: of the pictures that will come.
        wish: what the user asked for.
        encoder: FFmpeg's name.
        container: of the result.

    Raises:
        OptionError: the user named a format that FFmpeg does not know or the encoder does not take.
    """
    notices: list[str] = []
    offered = _offered(encoder, container)
    if wish in (SOURCE_FORMAT, COMPATIBLE_FORMAT):
        keeps_alpha = encoder in ALPHA_ENCODERS and container.muxer in ALPHA_MUXERS
        wanted = _wanted(source, wish, encoder, keeps_alpha=keeps_alpha, notices=notices)
        name = nearest(wanted, offered) if offered else wanted
        if working_format(opaque(name)) != opaque(wanted):
            said = f"{encoder} does not take {wanted}; {name} is written instead."
            notices.append(NotKept(said) if _has_less(name, wanted) else said)
    else:
        name = _named(wish, encoder, offered)
    if source.alpha and not has_alpha(name):
        notices.append(
            NotKept(
                f"The alpha channel of {source.path.name} is not kept: pictures are laid over black. VP9 in .webm or "
                ".mkv keeps it."
            )
        )
    tone_map = ToneMap.of(source.colour, source.hdr) if depth_of(name) < HDR_DEPTH else None
    if tone_map is not None:
        notices.append(_tone_mapped(source, tone_map, f"{name} has"))
    elif (codec := codec_of(encoder)) in PLAYABLE and name not in PLAYABLE[codec]:
        notices.append(
            f"The result is {codec} in {name}, which many players and phones do not show; "
            f"--output-video-pixel-format {COMPATIBLE_FORMAT} writes what all do."
        )
    colour = SDR if tone_map is not None else _yuv_colour(source, size)
    if is_rgb(name):
        colour = colour.as_rgb()
    location = _chroma_location(source, name) if tone_map is None else None
    return OutputFormat(name, colour, location, tone_map, tuple(notices))


def check_format(wish: str, encoder: str, container: Container) -> None:
    """Refuse a pixel format that no machine could write so; what hardware encoders take is for their machine to say.

    Args:
        wish: what the user asked for.
        encoder: FFmpeg's name.
        container: of the result.

    Raises:
        OptionError: FFmpeg does not know it, or the encoder does not take it.
    """
    if wish not in (SOURCE_FORMAT, COMPATIBLE_FORMAT):
        _named(wish, encoder, () if encoder.endswith(HARDWARE) else _offered(encoder, container))


def lossless_format(source: MediaInfo, size: Size) -> OutputFormat:
    """The format of pictures that wait to become frames of an animated image, which are in RGB of 8 bits.

    Args:
        source: the video or animated image that they come from.
        size: of the pictures that will come.
    """
    tone_map = ToneMap.of(source.colour, source.hdr)
    notices = []
    if tone_map is not None:
        notices.append(_tone_mapped(source, tone_map, "animated images have"))
    layout = _shown_layout(source)
    colour = SDR if tone_map is not None else _yuv_colour(source, size)
    if source.alpha or layout is None:
        return OutputFormat(PACKED_ALPHA if source.alpha else PACKED, colour.as_rgb(), None, tone_map, tuple(notices))
    eight_bits = replace(layout, coding=replace(layout.coding, bit_depth=8))
    name = planar_name(eight_bits, grey=opaque(source.pixel_format).startswith("gray"))
    return OutputFormat("yuv420p" if tone_map is not None else name, colour, None, tone_map, tuple(notices))


def _offered(encoder: str, container: Container) -> tuple[str, ...]:
    return RAW_FORMATS.get(container.muxer, ()) if encoder == RAW else offered_formats(encoder)


def _has_less(name: str, wanted: str) -> bool:
    """Whether a format has fewer bits, or fewer samples of colour where there is any, than another."""
    one, other = av.VideoFormat(name), av.VideoFormat(wanted)
    coarser = one.chroma_width(64) < other.chroma_width(64) or one.chroma_height(64) < other.chroma_height(64)
    return depth_of(name) < depth_of(wanted) or (coarser and not wanted.startswith("gray"))


def _tone_mapped(source: MediaInfo, tone_map: ToneMap, what_has: str) -> NotKept:
    return NotKept(
        f"{TRANSFERS[tone_map.transfer]} of {source.path.name} is tone-mapped to BT.709 of standard range, since "
        f"{what_has} too few bits for it."
    )


def codec_of(encoder: str) -> str | None:
    """What the result is called, for the codecs of :data:`PLAYABLE`."""
    for codec, parts in {"H.264": ("264",), "HEVC": ("265", "hevc"), "VP9": ("vp9",), "AV1": ("av1",)}.items():
        if any(part in encoder for part in parts):
            return codec
    return None


def _wanted(source: MediaInfo, wish: str, encoder: str, *, keeps_alpha: bool, notices: list[str]) -> str:
    """The format to have where the encoder took them all."""
    if source.alpha and keeps_alpha:
        if wish == SOURCE_FORMAT and opaque(source.pixel_format) != "yuv420p":
            notices.append(
                NotKept(
                    f"{source.path.name} has an alpha channel, which players show in 8-bit 4:2:0 only: "
                    f"{source.pixel_format} becomes {WITH_ALPHA}."
                )
            )
        return WITH_ALPHA
    if wish == COMPATIBLE_FORMAT:
        return "yuv420p"
    if (layout := _shown_layout(source)) is not None:
        return planar_name(layout, grey=opaque(source.pixel_format).startswith("gray"))
    deep = depth_of(source.pixel_format) > 8
    if encoder in ("libx264rgb", RAW):
        return "bgr48le" if deep else "bgr24"
    subsampled = "yuv420p10le" if deep else "yuv420p"
    if source.pixel_format != "pal8":
        notices.append(
            NotKept(
                f"{source.path.name} is RGB ({source.pixel_format}), of which {subsampled} keeps a quarter of the "
                "colour samples; --output-video-encoder libx264rgb or --output-video-pixel-format yuv444p keep more."
            )
        )
    return subsampled


def _named(wish: str, encoder: str, offered: tuple[str, ...]) -> str:
    """The format of that name, if the encoder takes it."""
    usable = tuple(name for name in offered if not has_alpha(name) or name.startswith("yuva"))
    remedy = f"Choose {SOURCE_FORMAT}, {COMPATIBLE_FORMAT}" + (f" or one of {', '.join(usable)}." if usable else ".")
    try:
        av.VideoFormat(wish)
    except ValueError as error:
        raise OptionError(f"--output-video-pixel-format {wish} is no pixel format of FFmpeg", remedy) from error
    for name in (wish, f"{wish}le"):
        if name in usable or not offered:
            return name
    raise OptionError(f"{encoder} does not take --output-video-pixel-format {wish}", remedy)


def _shown_layout(source: MediaInfo) -> Layout | None:
    """The layout of the source's pictures after turning; none where they are RGB."""
    layout = _layout(source.pixel_format, source)
    return None if layout is None else source.orientation.apply_to_layout(layout, source.coded_size)


def _layout(name: str, source: MediaInfo) -> Layout | None:
    return native_layout(working_format(opaque(name)), source.colour, source.coded_size)


def _yuv_colour(source: MediaInfo, size: Size) -> ColourDescription:
    """The source's colour, the parts said that its format or its height said instead of a tag."""
    if is_rgb(source.pixel_format) or source.colour.matrix == RGB:
        return source.colour.coded_as_yuv(size.height)
    colour = source.colour.shown_at(source.coded_size.height, size.height)
    layout = _shown_layout(source)
    return replace(colour, range=FULL) if layout is not None and layout.coding.full_range else colour


def _chroma_location(source: MediaInfo, name: str) -> str | None:
    """Where chroma lies, unless it is where everybody takes it to be or was sampled anew."""
    shown = _shown_layout(source)
    written = _layout(name, source)
    if shown is None or written is None or (shown.step_x, shown.step_y) != (written.step_x, written.step_y):
        return None
    x, y = shown.siting
    x, y = (x if shown.step_x > 1 else LEFT.x, y if shown.step_y > 1 else LEFT.y)
    nearest_siting = min((LEFT, *LOCATIONS), key=lambda siting: abs(siting.x - x) + abs(siting.y - y))
    return LOCATIONS.get(nearest_siting)
