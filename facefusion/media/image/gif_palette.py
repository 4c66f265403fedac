"""Choosing the 256 colours of a GIF's frame."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from PIL import Image

from facefusion.vision.colour import Plane

Colours: TypeAlias = npt.NDArray[np.uint8]

MOST_COLOURS = 256
"""One fewer where an entry is needed for what is transparent or does not change."""
ALPHA_THRESHOLD = 128
"""Of 255: below it a pixel becomes fully transparent."""
REFINEMENTS = 2
"""Rounds of k-means after the median cut."""


class Reduced(NamedTuple):
    """An image with a palette."""

    image: Image.Image
    """In mode P."""
    transparent: int | None
    """The index that is transparent, if any."""
    exact: bool
    """Every colour is the very one that it was."""


def to_palette(codes: Plane, keep: npt.NDArray[np.bool_] | None = None) -> Reduced:
    """An image of up to 256 colours, adapted to these pixels.

    Where the pixels have no more colours than that they are kept exactly; else the nearest ones are mixed by error
    diffusion (Floyd and Steinberg), which hides the steps of skin and sky.

    Args:
        codes: height x width x 3 or 4, RGB or RGBA, 8 bits. Alpha below one half becomes transparent, else opaque.
        keep: pixels to leave out: they become transparent.
    """
    colour = cast("Colours", np.ascontiguousarray(codes[..., :3]))
    hidden = np.zeros(colour.shape[:2], bool) if keep is None else keep
    if codes.shape[2] == 4:
        hidden = hidden | (codes[..., 3] < ALPHA_THRESHOLD)
    shown = colour[~hidden] if not hidden.all() else np.zeros((1, 3), np.uint8)
    packed = _packed(shown)
    values = np.unique(packed)
    most = MOST_COLOURS - bool(hidden.any())
    exact = len(values) <= most
    if exact:
        palette = np.stack((values >> 16, values >> 8 & 255, values & 255), axis=1).astype(np.uint8)
        whole = np.clip(np.searchsorted(values, _packed(colour)), 0, len(values) - 1)
        indices = whole.astype(np.uint8)
    else:
        palette, indices = _reduced(colour, shown, most)
    transparent = None
    if hidden.any():
        transparent = len(palette)
        indices = np.where(hidden, np.uint8(transparent), indices)
        palette = np.vstack((palette, np.zeros((1, 3), np.uint8)))
    image = Image.fromarray(indices)
    image.putpalette(palette.tobytes())
    return Reduced(image, transparent, exact)


def _packed(colour: Colours) -> npt.NDArray[np.uint32]:
    wide = colour.astype(np.uint32)
    return cast("npt.NDArray[np.uint32]", wide[..., 0] << 16 | wide[..., 1] << 8 | wide[..., 2])


def _reduced(colour: Colours, shown: Colours, most: int) -> tuple[Colours, Colours]:
    sample = Image.fromarray(shown.reshape(1, -1, 3))
    chosen = sample.quantize(most, Image.Quantize.MEDIANCUT, kmeans=REFINEMENTS)
    flat = np.array(chosen.getpalette(), np.uint8).reshape(-1, 3)[:most]
    # Pillow looks for the nearest among 256, so those that are not there repeat the last one.
    table = Image.new("P", (1, 1))
    table.putpalette(np.vstack((flat, np.repeat(flat[-1:], MOST_COLOURS - len(flat), axis=0))).tobytes())
    mixed = Image.fromarray(colour).quantize(palette=table, dither=Image.Dither.FLOYDSTEINBERG)
    return flat, np.minimum(np.array(mixed), np.uint8(len(flat) - 1))
