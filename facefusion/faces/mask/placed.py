"""A mask that knows where in the frame it lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import cv2

from facefusion.core.values import Affine, Mask, Size
from facefusion.vision.geometry import compose, invert


@dataclass(frozen=True, slots=True)
class PlacedMask:
    """A mask in a crop of its own. What lies outside of the crop is as its border is."""

    mask: Mask
    frame_to_crop: Affine

    def within(self, frame_to_other: Affine, size: Size) -> Mask:
        """The mask as another crop of the frame sees it, interpolated linearly.

        Args:
            frame_to_other: the map into that crop.
            size: of that crop.
        """
        other_to_crop = compose(self.frame_to_crop, invert(frame_to_other))
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return cast(
            "Mask", cv2.warpAffine(self.mask, other_to_crop, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
        )
