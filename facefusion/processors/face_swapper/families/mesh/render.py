"""Draws the source's skin on the target and blends it in. No state: any thread, any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import cv2
import numpy as np

from facefusion.core.values import Landmarks478, Mask, Picture, Pixels, Region, Size
from facefusion.faces.mask.placed import PlacedMask
from facefusion.faces.surface import atlas, topology
from facefusion.faces.surface.tone import to_pixels
from facefusion.processors.face_swapper.families.mesh.geometry import Shifts
from facefusion.processors.face_swapper.families.mesh.identity import MeshIdentity
from facefusion.processors.face_swapper.families.mesh.observe import Observation
from facefusion.processors.face_swapper.families.mesh.sharpness import texture_density, texture_level
from facefusion.vision.filters import Map, blur, quantise, resize, sample, smooth_step
from facefusion.vision.raster import rasterise

LARGEST_GRID = 280
"""A region larger than this many pixels is rasterised at half its resolution; the maps are smooth enough for it."""

MARGIN = 3


@dataclass(frozen=True, slots=True)
class Strength:
    """How much of the source comes through, each 0 .. 1."""

    shape: float
    """Its proportions."""
    lips: float
    """Its lips, even where their expression differs from the target's."""
    folds: float
    """The folds around its mouth, even where the expression differs: a smile's do not suit a speaking mouth."""
    eyes: float
    """Its gaze."""

    @classmethod
    def of_weight(cls, weight: float) -> Strength:
        """From the option's 0 .. 1, linear on both sides of 0.5.

        0 leaves the target's proportions; 0.5 takes seven tenths of the source's and keeps the target's gaze and, in
        a foreign expression, a quarter of its lips, while the source's folds fade by a seventh; 1 takes all of the
        source's proportions, lips and folds, and half of its gaze.
        """
        low, high = min(weight / 0.5, 1), max(weight / 0.5 - 1, 0)
        return cls(shape=0.7 * low + 0.3 * high, lips=0.75 + 0.25 * high, folds=0.85 + 0.15 * high, eyes=0.5 * high)


@dataclass(frozen=True, slots=True)
class _Maps:
    """What the mesh says about each pixel of the region."""

    size: Size
    grid_u: Map
    """Texture coordinate, 0 .. 1, in the grid that was rasterised, which may be coarser than the region."""
    grid_v: Map
    u: Map
    """The same for each pixel."""
    v: Map
    away_x: Map
    """Where the target's pixel for this place lies, relative to it, in pixels."""
    away_y: Map
    depth: Map
    """Distance from the outline of the face as it is seen, in crop sides; 0 outside."""
    mouth: Map
    """255 between the lips."""


def swap(
    picture: Picture, identity: MeshIdentity, seen: Observation, strength: Strength, bound: PlacedMask | None = None
) -> None:
    """Put the source's skin on one face of the picture, in place; within ``bound``, where there is one."""
    moved = seen.mesh[: topology.VERTEX_COUNT].copy()
    moved[:, :2] += seen.shifts
    region = _region(moved, seen.size)
    if region.right - region.left < 4 or region.bottom - region.top < 4:
        return
    maps = _draw(moved, seen.shifts, region, seen.size)
    to_region = seen.frame_to_crop.copy()
    to_region[:, 2] -= region[:2]
    size = Size(region.right - region.left, region.bottom - region.top)
    deep = picture.bit_depth > 8
    target = picture.warp(to_region, size, as_float=deep)
    opacity = _opacity(maps, identity, seen, strength)
    source = _shade(maps, identity, seen, strength, deep=deep)
    result, mask = _blend(source, target, opacity, maps)
    if bound is not None:
        np.minimum(mask, bound.within(to_region, size), out=mask)
    picture.paste(result, mask, to_region)


def _region(points: Landmarks478, size: int) -> Region:
    """The even-sized part of the crop that holds the face."""
    left, top = np.clip(np.floor(points[:, :2].min(axis=0)) - MARGIN, 0, size).astype(int).tolist()
    right, bottom = np.clip(np.ceil(points[:, :2].max(axis=0)) + MARGIN, 0, size).astype(int).tolist()
    return Region(left, top, right - (right - left) % 2, bottom - (bottom - top) % 2)


def _draw(moved: Landmarks478, shifts: Shifts, region: Region, size: int) -> _Maps:
    width, height = region.right - region.left, region.bottom - region.top
    scale = np.float32(1 if max(width, height) <= LARGEST_GRID else 0.5)
    grid = Size(int(width * scale), int(height * scale))
    points = (moved[:, :2] - np.array(region[:2], np.float32) + np.float32(0.5)) * scale - np.float32(0.5)
    mouth = topology.mouth_triangles()
    order = np.concatenate((mouth, topology.triangles()[topology.far_to_near(moved)]))
    raster = rasterise(points, order, grid)
    full = Size(width, height)
    coordinates = topology.texture_coordinates()
    outline = cast("Map", cv2.distanceTransform(raster.inside(), cv2.DIST_L2, 3))
    between = np.zeros(grid.width * grid.height, np.float32)
    u, v = raster.interpolate(coordinates[:, 0]), raster.interpolate(coordinates[:, 1])
    between[raster.covered[raster.seen < len(mouth)]] = 1
    return _Maps(
        size=full,
        grid_u=u,
        grid_v=v,
        u=resize(u, full),
        v=resize(v, full),
        away_x=resize(raster.interpolate(-shifts[:, 0]), full),
        away_y=resize(raster.interpolate(-shifts[:, 1]), full),
        depth=resize(outline, full) * (1 / (scale * np.float32(size))),
        mouth=resize(between.reshape(grid.height, grid.width), full),
    )


def _opacity(maps: _Maps, identity: MeshIdentity, seen: Observation, strength: Strength) -> Mask:
    """Where the source is shown: most of it is decided in the unwrapped face and drawn with the mesh."""
    parts = atlas.masks(atlas.DETAIL)
    detail = Size(atlas.DETAIL, atlas.DETAIL)
    kept = parts.eyes * np.float32(1 - strength.eyes)
    # A closed eye is the target's, lids and all: the source's open eye would be squeezed into a dark line.
    for side, closed in zip((np.s_[:, : atlas.DETAIL // 2], np.s_[:, atlas.DETAIL // 2 :]), seen.closed, strict=True):
        if closed > 0:
            kept[side] = np.maximum(kept[side], parts.lids[side] * np.float32(closed))
    foreign = seen.mismatch * (1 - strength.lips)
    if foreign > 0:
        kept = np.maximum(kept, parts.lips * np.float32(foreign))
    uncovered = resize(seen.uncovered * np.float32(1 / 255), detail)
    unwrapped = identity.reach * uncovered * (1 - kept)
    opacity = _look_up(unwrapped, maps) * smooth_step(maps.depth, 0.004, 0.03)
    open_mouth = min(max((seen.mouth_gap - 0.02) / 0.05, 0), 1)
    if open_mouth > 0:
        opening = cast("Map", cv2.erode(maps.mouth, np.ones((2, 2), np.uint8)))
        opacity *= 1 - blur(opening, max(0.004 * seen.size, 0.5)) * np.float32(open_mouth)
    return opacity


def _shade(maps: _Maps, identity: MeshIdentity, seen: Observation, strength: Strength, *, deep: bool) -> Pixels:
    """The source's skin in the target's light."""
    detail = identity.detail
    level = texture_level(texture_density(seen.mesh), len(detail.levels))
    mixing = np.zeros((3, 4), np.float32)
    mixing[:, :3] = np.diag(seen.light.gain)
    mixing[0, 3] = seen.light.gain[0] * seen.finish.grain
    tone = cast("Map", cv2.transform(_look_up(detail.levels[level], maps), mixing))
    foreign = seen.mismatch * (1 - strength.folds)
    if foreign > 0.02:
        kept = 1 - np.float32(foreign) * _look_up_smooth(atlas.masks(atlas.DETAIL).around_mouth, maps)
        tone *= cast("Map", cv2.merge((kept, kept, kept)))
    tone += _look_up_smooth(seen.light.field, maps)
    pixels = to_pixels(tone)
    if seen.light.grey:
        pixels[..., 0] = pixels[..., 2] = pixels[..., 1]
    if seen.finish.softness > 0.3:
        pixels = blur(pixels, seen.finish.softness)
    if deep:
        pixels *= np.float32(255)
        return np.clip(pixels, 0, 255, out=pixels)
    return quantise(pixels)


def _blend(source: Pixels, target: Pixels, opacity: Mask, maps: _Maps) -> tuple[Pixels, Mask]:
    """The new pixels and their mask.

    Where the target is not moved, the mask is the source's opacity alone, so the frame keeps its own pixels under it.
    Where it is moved, the moved target has to cover the frame's pixels too.
    """
    height, width = opacity.shape
    x: Map = maps.away_x + np.arange(width).astype(np.float32)
    y: Map = maps.away_y + np.arange(height).astype(np.float32)[:, None]
    moved = sample(target, x, y, cubic=True)
    distance = np.abs(maps.away_x) + np.abs(maps.away_y)
    cover = (1 - opacity) * smooth_step(distance, 0.02, 0.5) * smooth_step(maps.depth, 0.002, 0.012)
    mask = opacity + cover
    result = cast("Pixels", cv2.blendLinear(source, moved, opacity, cover))
    return result, mask


def _look_up(unwrapped: Map, maps: _Maps) -> Map:
    """A map of the unwrapped face as the mesh shows it."""
    side = np.float32(unwrapped.shape[0])
    return sample(unwrapped, maps.u * side - np.float32(0.5), maps.v * side - np.float32(0.5))


def _look_up_smooth(unwrapped: Map, maps: _Maps) -> Map:
    """The same for a map without detail: read in the grid that was rasterised."""
    side = np.float32(unwrapped.shape[0])
    read = sample(unwrapped, maps.grid_u * side - np.float32(0.5), maps.grid_v * side - np.float32(0.5))
    return resize(read, maps.size)
