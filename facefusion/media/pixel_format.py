"""Which of FFmpeg's pixel formats are kept as they are, and what becomes of the others."""

from __future__ import annotations

import re

import av

from facefusion.core.values import Size
from facefusion.media.colour import FULL, ColourDescription
from facefusion.vision.picture import Layout

PLANAR = re.compile(r"yuv(?P<full>j?)a?(?P<steps>4[0-4]{2})p(?:(?P<bits>9|10|12|14|16)le)?")
GREY = re.compile(r"gray(?:(?P<bits>9|10|12|14|16)le)?")

STEPS: dict[str, tuple[int, int]] = {
    "444": (1, 1),
    "440": (1, 2),
    "422": (2, 1),
    "420": (2, 2),
    "411": (4, 1),
    "410": (4, 4),
}
"""Luma columns and rows per chroma sample, by the notation."""

EXACT_RELATIVES: dict[str, str] = {
    "nv12": "yuv420p",
    "nv21": "yuv420p",
    "nv16": "yuv422p",
    "nv24": "yuv444p",
    "nv20le": "yuv422p10le",
    "p010le": "yuv420p10le",
    "p210le": "yuv422p10le",
    "p016le": "yuv420p16le",
    "yuyv422": "yuv422p",
    "uyvy422": "yuv422p",
    "yvyu422": "yuv422p",
}
"""Formats that hold the same numbers in another order than a planar one."""


def native_layout(name: str, colour: ColourDescription, size: Size) -> Layout | None:
    """How the planes of a format fit together, alpha left aside; none where it is not planar YUV or grey."""
    if grey := GREY.fullmatch(name):
        full = colour.range in (0, FULL)
        description = ColourDescription(colour.matrix, FULL if full else colour.range)
        return Layout(description.coding(int(grey["bits"] or 8), size.height))
    if not (planar := PLANAR.fullmatch(name)):
        return None
    if planar["full"]:
        colour = ColourDescription(colour.matrix, FULL)
    return Layout(colour.coding(int(planar["bits"] or 8), size.height), *STEPS[planar["steps"]])


def working_format(name: str) -> str:
    """The format in which frames of format ``name`` are worked on.

    Planar YUV, also with alpha, and grey of 8 to 16 bits stay; semi-planar, packed YUV and big-endian ones become the
    planar one with the same numbers; all others (RGB, palettes, grey with alpha) become interleaved BGR, or BGRA where
    they have alpha, of 8 bits, or 16 where they are deeper.
    """
    little = re.sub(r"be$", "le", name)
    little = EXACT_RELATIVES.get(little, little)
    if PLANAR.fullmatch(little) or GREY.fullmatch(little):
        return little
    if has_alpha(name):
        return "bgra" if depth_of(name) <= 8 else "bgra64le"
    return "bgr24" if depth_of(name) <= 8 else "bgr48le"


def depth_of(name: str) -> int:
    """Bits of the deepest component."""
    return max(component.bits for component in av.VideoFormat(name).components)


def has_alpha(name: str) -> bool:
    """Whether the format has an alpha channel (a palette may)."""
    return name == "pal8" or any(component.is_alpha for component in av.VideoFormat(name).components)


def is_rgb(name: str) -> bool:
    """Whether the components are red, green and blue, or a palette of them."""
    return name == "pal8" or av.VideoFormat(name).is_rgb


def opaque(name: str) -> str:
    """The format without its alpha channel, where there is a planar one; else ``name``."""
    if name.startswith("yuva"):
        return name.replace("yuva", "yuv", 1)
    return {"ya8": "gray", "ya16le": "gray16le", "ya16be": "gray16be"}.get(name, name)


def planar_name(layout: Layout, *, grey: bool) -> str:
    """The name of the planar format with this layout, the full-range twin names left aside."""
    bits = layout.coding.bit_depth
    suffix = "" if bits == 8 else f"{bits}le"
    if grey:
        return f"gray{suffix}"
    notation = next(key for key, steps in STEPS.items() if steps == (layout.step_x, layout.step_y))
    return f"yuv{notation}p{suffix}"


def nearest(name: str, offered: tuple[str, ...]) -> str:
    """The offered format that loses least of ``name``: subsampling first, then depth; more rather than less.

    Of equals a planar one. None with an alpha channel, unless it is ``name`` itself.
    """
    if name in offered:
        return name
    twin = name.replace("yuvj", "yuv")
    if twin in offered:
        return twin

    def cost(candidate: str) -> tuple[int, ...]:
        wanted, given = _traits(twin), _traits(working_format(candidate))
        lost = tuple(max(0, want - have) for want, have in zip(wanted, given, strict=True))
        extra = sum(max(0, have - want) for want, have in zip(wanted, given, strict=True))
        return (*lost, extra, candidate in EXACT_RELATIVES)

    in_memory = [
        kind for kind in offered if av.VideoFormat(kind).components and "yuvj" not in kind and not has_alpha(kind)
    ]
    usable = [kind for kind in in_memory if working_format(kind) == kind or kind in EXACT_RELATIVES]
    return min(usable or in_memory, key=cost)


def _traits(name: str) -> tuple[int, int, int, int]:
    """Colour at all, chroma columns and rows per 4 of luma, and bits."""
    kind = av.VideoFormat(name)
    colour = 0 if GREY.fullmatch(name) else 1
    return (colour, kind.chroma_width(16) * colour, kind.chroma_height(16) * colour, depth_of(name))
