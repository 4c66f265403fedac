"""What a step will do, worked out before the first frame."""

from __future__ import annotations

from collections.abc import Sequence

from facefusion.core.values import Size

HD_PIXELS = 1280 * 720
UHD_PIXELS = 3840 * 2160

ENHANCE_GRAIN = 1
SMALL_GRAIN = 4
"""Frames below 720p are cheap, so fewer and larger helpings save hand-overs."""
LARGE_GRAIN = 1
MEDIUM_GRAIN = 4


def automatic_grain(processors: Sequence[str], size: Size, *, on_gpu: bool) -> int:
    """How many frames a worker takes at a time where the user leaves it to us (``execution_queue_count`` 0).

    1 where a frame takes long anyway (an enhancer, a GPU that is waited for, 4K), 4 elsewhere.
    """
    if any(name.endswith("_enhancer") for name in processors):
        return ENHANCE_GRAIN
    if size.width * size.height < HD_PIXELS:
        return SMALL_GRAIN
    if on_gpu or size.width * size.height >= UHD_PIXELS:
        return LARGE_GRAIN
    return MEDIUM_GRAIN
