"""Takes the skin off source photos: an unwrapped texture in which what no photo shows is made up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np

from facefusion.core.values import Landmarks478, Picture, Size
from facefusion.faces.surface import atlas, topology
from facefusion.faces.surface.hair import find_covering
from facefusion.faces.surface.square import face_square
from facefusion.faces.surface.tone import to_lab
from facefusion.vision.filters import Map, Marks, blur, dilate, fill_gaps, resize, sample, smooth_step, weighted_blur
from facefusion.vision.geometry import fit_similarity, transform_mesh, transform_points

TEXTURE_SIZE = 512
"""Side of the unwrapped source face."""

LARGEST_CROP = 800
"""A larger photo is sampled down to this many pixels a side: its face then has the texture's resolution."""

_LOG_OFFSET = np.float32(4)
"""Added before taking logarithms, so that noise in the dark does not count."""

_EAR_CAUTION = 0.15
"""By how much more skin in front of the ears has to face the camera to be believed."""

_LIGHT_SPREAD = 0.08
"""Width of the blur that separates light from detail, in texture sides."""


@dataclass(frozen=True, slots=True)
class Skin:
    """The face of one or several source photos."""

    texture: Map
    """BGR 0 .. 255, unwrapped, without gaps."""
    known: Map
    """1 where a photo shows the face or its mirror image, 0 where it is made up, at the atlas' detail size."""
    beardless: Map
    """0 where a beard or a deep shadow lies, at the atlas' detail size."""
    mesh: Landmarks478
    """Mean shape of the face, in the pixels of the first photo."""


@dataclass(frozen=True, slots=True)
class _View:
    """One photo's share."""

    logarithm: Map
    """Of the unwrapped face."""
    seen: Map
    """0 .. 1: turned to the camera and uncovered."""
    beardless: Map


def take_skin(photos: Sequence[tuple[Picture, Landmarks478]]) -> Skin:
    """Unwrap each photo's face, merge them, and complete what none of them shows."""
    views = [_unwrap(picture, mesh) for picture, mesh in photos]
    merged = views[0] if len(views) == 1 else _merge(views)
    texture, known = _complete(merged)
    return Skin(texture, known, merged.beardless, _mean_mesh([mesh for _, mesh in photos]))


def _unwrap(picture: Picture, mesh: Landmarks478) -> _View:
    square = face_square(mesh)
    side = int(np.clip(round(square.side), 64, LARGEST_CROP))
    to_crop = square.to_crop(side)
    crop = picture.warp(to_crop, Size(side, side)).astype(np.float32)
    placed = transform_mesh(to_crop, mesh.astype(np.float32))
    raster = atlas.raster(TEXTURE_SIZE)
    texture = sample(
        crop,
        raster.interpolate(placed[: topology.VERTEX_COUNT, 0]),
        raster.interpolate(placed[: topology.VERTEX_COUNT, 1]),
        cubic=True,
    )
    np.clip(texture, 0, 255, out=texture)
    _close_mouth(texture, raster.inside())
    turned = raster.interpolate(topology.facing(placed))
    stricter = np.float32(_EAR_CAUTION) * resize(atlas.masks(atlas.DETAIL).ears, Size(TEXTURE_SIZE, TEXTURE_SIZE))
    visible = smooth_step(turned - stricter, 0.15, 0.5) * (raster.inside() > 0)
    hidden, beardless = _covered(texture, turned, visible)
    seen = blur(smooth_step(visible * (1 - hidden), 0.45, 0.95), TEXTURE_SIZE / 100) * (raster.inside() > 0)
    return _View(np.log(texture + _LOG_OFFSET), seen, beardless)


def _close_mouth(texture: Map, inside: Marks) -> None:
    """Fill the line between the lips, which belongs to no triangle, from the lips. In place."""
    height, width = inside.shape
    mouth = slice(round(0.6 * height), round(0.8 * height)), slice(round(0.35 * width), round(0.65 * width))
    lips = cast("Marks", cv2.erode(inside, np.ones((3, 3), np.uint8)))[mouth] > 0
    texture[mouth][~lips] = fill_gaps(texture[mouth], lips.astype(np.float32))[~lips]


def _covered(texture: Map, turned: Map, visible: Map) -> tuple[Map, Map]:
    """What hides skin (at texture size), and where there is no beard (at the atlas' detail size)."""
    size = atlas.DETAIL
    parts = atlas.masks(size)
    small = Size(size, size)
    lab = to_lab(resize(texture, small))
    covering = find_covering(lab, parts, resize(np.clip(turned, 0, 1), small) * parts.inside, of_source=True)
    # A side far darker than its mirror image lies under hair or in a hard shadow: the other side is used instead.
    light = blur(lab[..., 0], size / 45)
    other = resize(visible, small)[:, ::-1] * (1 - covering.hair[:, ::-1]) * parts.inside
    darker = smooth_step(light[:, ::-1] - light, 17, 30) * other
    darker = blur(dilate(darker, 5), size / 90)
    hidden = np.maximum(covering.hair, darker)
    return resize(hidden, Size(TEXTURE_SIZE, TEXTURE_SIZE)), 1 - covering.beard


def _skin_mask() -> Map:
    return resize(atlas.masks(atlas.DETAIL).skin, Size(TEXTURE_SIZE, TEXTURE_SIZE))


def _relit(logarithm: Map, weights: Map, model: Map, model_weights: Map) -> Map:
    """One texture in the light of another, as far as both are known nearby; unchanged elsewhere.

    Light is what remains of a logarithm after a wide blur over skin.
    """
    small = Size(atlas.DETAIL // 2, atlas.DETAIL // 2)
    sigma = _LIGHT_SPREAD * small.width
    own, own_support = weighted_blur(resize(logarithm, small), resize(weights, small), sigma)
    other, other_support = weighted_blur(resize(model, small), resize(model_weights, small), sigma)
    sure = smooth_step(np.minimum(own_support, other_support), 0.03, 0.2)[..., None]
    return logarithm + resize((other - own) * sure, Size(TEXTURE_SIZE, TEXTURE_SIZE))


def _merge(views: Sequence[_View]) -> _View:
    """The mean of all views, each brought to the first one's light; the better seen counts more."""
    skin = _skin_mask()
    first = views[0]
    total = np.zeros_like(first.logarithm)
    weights = np.zeros_like(first.seen)
    for view in views:
        weight = np.square(view.seen) + np.float32(1e-6)
        total += weight[..., None] * _relit(view.logarithm, view.seen * skin, first.logarithm, first.seen * skin)
        weights += weight
    seen = np.maximum.reduce([view.seen for view in views])
    beardless: Map = np.mean([view.beardless for view in views], axis=0, dtype=np.float32)
    return _View(total / weights[..., None], seen, beardless)


def _complete(view: _View) -> tuple[Map, Map]:
    """Fill what was not seen: from the mirrored side in this side's light, else from the surroundings."""
    skin = _skin_mask()
    logarithm, seen = view.logarithm, view.seen
    mirrored_seen = seen[:, ::-1]
    mirrored = _relit(np.ascontiguousarray(logarithm[:, ::-1]), mirrored_seen * skin[:, ::-1], logarithm, seen * skin)
    weight = np.float32(0.35) * mirrored_seen * (1 - seen)
    total = seen + weight + np.float32(2e-6)
    mixed: Map = logarithm * (seen + np.float32(1e-6))[..., None] + mirrored * (weight + np.float32(1e-6))[..., None]
    mixed /= total[..., None]
    known = np.clip(seen + mirrored_seen * (1 - seen), 0, 1)
    filled = fill_gaps(mixed, smooth_step(known, 0.2, 0.6))
    share = smooth_step(known, 0.2, 0.7)[..., None]
    texture = np.exp(mixed * share + filled * (1 - share)) - _LOG_OFFSET
    detail = Size(atlas.DETAIL, atlas.DETAIL)
    return np.clip(texture, 0, 255, out=texture), np.maximum(resize(known, detail), atlas.masks(atlas.DETAIL).creases)


def _mean_mesh(meshes: Sequence[Landmarks478]) -> Landmarks478:
    """The mean shape, all meshes laid over the first by the vertices that expressions hardly move."""
    rigid = list(topology.RIGID)
    first = meshes[0].astype(np.float32)
    laid_over = [
        transform_points(fit_similarity(mesh[rigid], first[rigid]), mesh.astype(np.float32)) for mesh in meshes[1:]
    ]
    mean: Landmarks478 = np.mean([first, *laid_over], axis=0, dtype=np.float32)
    return mean
