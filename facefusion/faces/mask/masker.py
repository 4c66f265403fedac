"""All masks of a face, combined: what lies within every one of them is changed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from facefusion.core.errors import FaceFusionError
from facefusion.core.values import Affine, Face, Mask, Picture, Size
from facefusion.faces.landmark.points import aligned_points, outline_points
from facefusion.faces.mask.area import area_mask
from facefusion.faces.mask.base import (
    AREA,
    BOX,
    OCCLUSION,
    REGION,
    SWAP_MASKS,
    FaceCrop,
    FaceOccluder,
    FaceParser,
    MaskUse,
)
from facefusion.faces.mask.box import Padding, box_mask, padding_mask
from facefusion.faces.mask.curve import soften_inward
from facefusion.faces.mask.placed import PlacedMask
from facefusion.faces.settings import FaceMaskerSettings
from facefusion.observability.stages import staged
from facefusion.vision.geometry import fit_template, transform_points

BOUND_TEMPLATE = "arcface_128"
BOUND_SIDE = 256
"""The crop of FaceFusion's default swapper: in it paddings mean to a face what they mean there."""


class FaceMasker:
    """Bounds what one processor changes of a face, as its user and the processor itself will have it.

    Runs the occluder and the parser only where their masks count. Thread-safe.

    Args:
        settings: what the user chose.
        use: which of it counts for the processor.
        occluder: needed where ``occlusion`` counts.
        parser: needed where ``region`` counts.

    Raises:
        ValueError: a network is needed and not there.
    """

    def __init__(
        self,
        settings: FaceMaskerSettings,
        use: MaskUse,
        occluder: FaceOccluder | None = None,
        parser: FaceParser | None = None,
    ) -> None:
        self._types = use.types(settings.face_mask_types)
        self._areas = settings.face_mask_areas if use.areas is None else use.areas
        self._regions = frozenset(settings.face_mask_regions)
        self._blur = settings.face_mask_blur if use.blur is None else use.blur
        self._padding = Padding(*settings.padding) if use.padded else Padding()
        self._occluder = occluder
        self._parser = parser
        for kind, network in ((OCCLUSION, occluder), (REGION, parser)):
            if kind in self._types and network is None:
                raise ValueError(f"the mask {kind} needs a network")

    def before(self, crop: FaceCrop) -> Mask:
        """:meth:`before_each` for one crop."""
        return self.before_each([crop])[0]

    @staged("masks")
    def before_each(self, crops: Sequence[FaceCrop]) -> list[Mask]:
        """What may be changed by crops as they are before they are changed: box and occlusion.

        Args:
            crops: of one picture or several.

        Returns:
            A mask of each crop's size; it may be read-only. All 1 where neither counts.
        """
        sizes = [crop.size for crop in crops]
        boxes = [box_mask(size, self._blur, self._padding) for size in sizes] if BOX in self._types else []
        return _least(sizes, boxes, self._occlusion(crops))

    def after(self, crop: FaceCrop) -> Mask:
        """:meth:`after_each` for one crop."""
        return self.after_each([crop])[0]

    @staged("masks")
    def after_each(self, crops: Sequence[FaceCrop]) -> list[Mask]:
        """What may be changed by crops as they are after they were changed: areas and regions.

        Args:
            crops: of one picture or several; the points of their faces outline the areas.

        Returns:
            As :meth:`before_each`.

        Raises:
            FaceFusionError: areas count, and a face has neither 68 points nor a mesh.
        """
        outlined = crops if AREA in self._types else ()
        areas = [self._outlined(crop.face, crop.frame_to_crop, crop.size) for crop in outlined]
        return _least([crop.size for crop in crops], areas, self._parsed(crops))

    @staged("masks")
    def bound(self, picture: Picture, face: Face) -> PlacedMask | None:
        """What may be changed at most by a processor that draws the outline of the face by itself.

        The box counts by its padding alone, since such a processor has a soft edge of its own; all masks are measured
        on the untouched face. None where nothing bounds it.

        Raises:
            FaceFusionError: as :meth:`after`.
        """
        padded = BOX in self._types and any(self._padding)
        if not padded and self._types <= {BOX}:
            return None
        size = Size(BOUND_SIDE, BOUND_SIDE)
        frame_to_crop = fit_template(aligned_points(face), BOUND_TEMPLATE, BOUND_SIDE)
        masks = [[padding_mask(size, self._blur, self._padding)]] if padded else []
        if AREA in self._types:
            masks.append([self._outlined(face, frame_to_crop, size)])
        if not self._types.isdisjoint((OCCLUSION, REGION)):
            crops = [FaceCrop(picture.warp(frame_to_crop, size), face, frame_to_crop, picture)]
            masks += [self._occlusion(crops), self._parsed(crops)]
        return PlacedMask(_least([size], *masks)[0], frame_to_crop)

    def _occlusion(self, crops: Sequence[FaceCrop]) -> list[Mask]:
        if OCCLUSION not in self._types or self._occluder is None:
            return []
        return [soften_inward(mask) for mask in self._occluder.uncovered(crops)]

    def _parsed(self, crops: Sequence[FaceCrop]) -> list[Mask]:
        if REGION not in self._types or self._parser is None:
            return []
        return [soften_inward(mask) for mask in self._parser.regions(crops, self._regions)]

    def _outlined(self, face: Face, frame_to_crop: Affine, size: Size) -> Mask:
        points = outline_points(face)
        if points is None:
            raise FaceFusionError(
                "the mask 'area' needs the 68 points of each face and got a face without",
                "Leave 'area' out of --face-mask-types, or choose another --face-landmarker-model.",
            )
        return area_mask(transform_points(frame_to_crop, points), self._areas, size)


PLAIN = FaceMasker(FaceMaskerSettings(), SWAP_MASKS)
"""A box, as where the user chose nothing."""


def _least(sizes: Sequence[Size], *kinds: Sequence[Mask]) -> list[Mask]:
    """For each crop the smallest value at each pixel; 1 where there is no mask.

    Args:
        sizes: of the crops.
        kinds: a mask for each crop, of every kind that counts; nothing of one that does not.
    """
    there = [masks for masks in kinds if masks]
    if not there:
        return [np.ones((size.height, size.width), np.float32) for size in sizes]
    return [reduce(np.minimum, masks) for masks in zip(*there, strict=True)]
