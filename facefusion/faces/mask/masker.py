"""All masks of a face, combined: what lies within every one of them is changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from facefusion.core.errors import FaceFusionError
from facefusion.core.values import Affine, Face, Mask, Picture, Pixels, Size
from facefusion.faces.landmark.points import aligned_points, outline_points
from facefusion.faces.mask.area import area_mask
from facefusion.faces.mask.base import AREA, BOX, OCCLUSION, REGION, SWAP_MASKS, FaceOccluder, FaceParser, MaskUse
from facefusion.faces.mask.box import Padding, box_mask, padding_mask
from facefusion.faces.mask.curve import soften_inward
from facefusion.faces.mask.placed import PlacedMask
from facefusion.faces.settings import FaceMaskerSettings
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
        self._blur = settings.face_mask_blur
        self._padding = Padding(*settings.padding) if use.padded else Padding()
        self._occluder = occluder
        self._parser = parser
        for kind, network in ((OCCLUSION, occluder), (REGION, parser)):
            if kind in self._types and network is None:
                raise ValueError(f"the mask {kind} needs a network")

    def before(self, crop: Pixels) -> Mask:
        """What may be changed by the crop as it is before it is changed: box and occlusion.

        Args:
            crop: aligned, any size.

        Returns:
            A mask of the crop's size; it may be read-only. All 1 where neither counts.
        """
        masks = [box_mask(_size_of(crop), self._blur, self._padding)] if BOX in self._types else []
        return _least([*masks, *self._occlusion(crop)], _size_of(crop))

    def after(self, crop: Pixels, face: Face, frame_to_crop: Affine) -> Mask:
        """What may be changed by the crop as it is after it was changed: areas and regions.

        Args:
            crop: aligned, any size.
            face: whose points outline the areas.
            frame_to_crop: the map into the crop.

        Returns:
            As :meth:`before`.

        Raises:
            FaceFusionError: areas count, and the face has neither 68 points nor a mesh.
        """
        size = _size_of(crop)
        return _least([*self._outlined(face, frame_to_crop, size), *self._parsed(crop)], size)

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
        masks = [padding_mask(size, self._blur, self._padding)] if padded else []
        masks += self._outlined(face, frame_to_crop, size)
        if not self._types.isdisjoint((OCCLUSION, REGION)):
            crop = picture.warp(frame_to_crop, size)
            masks += [*self._occlusion(crop), *self._parsed(crop)]
        return PlacedMask(_least(masks, size), frame_to_crop)

    def _occlusion(self, crop: Pixels) -> list[Mask]:
        if OCCLUSION not in self._types or self._occluder is None:
            return []
        return [soften_inward(self._occluder.uncovered(crop))]

    def _parsed(self, crop: Pixels) -> list[Mask]:
        if REGION not in self._types or self._parser is None:
            return []
        return [soften_inward(self._parser.regions(crop, self._regions))]

    def _outlined(self, face: Face, frame_to_crop: Affine, size: Size) -> list[Mask]:
        if AREA not in self._types:
            return []
        points = outline_points(face)
        if points is None:
            raise FaceFusionError(
                "the mask 'area' needs the 68 points of each face and got a face without",
                "Leave 'area' out of --face-mask-types, or choose another --face-landmarker-model.",
            )
        return [area_mask(transform_points(frame_to_crop, points), self._areas, size)]


PLAIN = FaceMasker(FaceMaskerSettings(), SWAP_MASKS)
"""A box, as where the user chose nothing."""


def _least(masks: Sequence[Mask], size: Size) -> Mask:
    """The smallest value at each pixel; 1 where there is no mask."""
    if not masks:
        return np.ones((size.height, size.width), np.float32)
    least = masks[0]
    for mask in masks[1:]:
        least = np.minimum(least, mask)
    return least


def _size_of(crop: Pixels) -> Size:
    height, width = crop.shape[:2]
    return Size(width, height)
