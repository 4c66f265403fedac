"""One picture of the scene: expression, head, camera, light and grain, the portrait sampled only once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from scripts.assets.expression import LASH_COLOUR, Eye, Mouth, mouth_colours
from scripts.assets.frames import Points, Values
from scripts.assets.head import Field, Head, invert, rotation
from scripts.assets.motion import Moment
from scripts.assets.portrait import SCALE, Image, Staging

JAW_DROP = 0.32
"""Widest opening of the mouth in shares of its half width."""
ROUNDING = 0.16
_AMBIENT = 0.74
_GRAIN_LEVELS = 1.6
_GRAIN_TILE = 512


@dataclass(frozen=True, slots=True)
class Paint:
    """Colour laid over some pixels of the picture."""

    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]
    share: Field
    """Shape (n, 1), 0..1."""
    colours: Field
    """Shape (n, 3), BGR."""

    @classmethod
    def of(cls, rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp], share: Values, colours: Points) -> Paint:
        """Keep the pixels that are covered at all. ``colours`` has one row, or one per pixel."""
        seen = share > 0.0
        kept = np.broadcast_to(colours, (len(share), 3))[seen]
        return cls(rows[seen], columns[seen], share[seen, None].astype(np.float32), kept.astype(np.float32))


@dataclass(frozen=True, slots=True)
class Scene:
    """A portrait ready to be moved."""

    staging: Staging
    canvas: Image
    """The portrait's surroundings, :data:`SCALE` times enlarged."""
    head: Head
    eyes: tuple[Eye, Eye]
    mouth: Mouth

    @classmethod
    def of(cls, staging: Staging, canvas: Image, mesh: Points) -> Scene:
        """Read face and head off the portrait's mesh, (478, 3) in portrait pixels."""
        return cls(
            staging=staging,
            canvas=canvas,
            head=Head.of(mesh, staging),
            eyes=(Eye.left(mesh), Eye.right(mesh)),
            mouth=Mouth.of(mesh),
        )

    def render(self, now: Moment, height: int, frame: int) -> Image:
        """The picture at a moment, 16:9 and ``height`` pixels high; ``frame`` seeds its grain."""
        size = (height * 16 // 9, height)
        camera = self._camera(now, height)
        origins = invert(self.head.displacement(now.pose))
        places = _seen(origins, camera, size)
        places += np.array(self.head.corner, np.float32)
        paint = self._express(places, now)
        column = (places[..., 0] - self.head.corner[0] + 0.5) * SCALE - 0.5
        row = (places[..., 1] - self.head.corner[1] + 0.5) * SCALE - 0.5
        picture = cv2.remap(self.canvas, column, row, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
        lit = picture.astype(np.float32)
        for layer in paint:
            lit[layer.rows, layer.columns] += layer.share * (layer.colours - lit[layer.rows, layer.columns])
        gain = _seen(self._light(now, origins), camera, size)
        lit *= gain[..., None]
        lit += _grain(frame, height)[..., None]
        return np.clip(np.rint(lit, out=lit), 0, 255).astype(np.uint8)

    def _camera(self, now: Moment, height: int) -> npt.NDArray[np.float64]:
        """2x3 map from the fields' columns and rows to the picture's pixels."""
        left, top, view = self.staging.view
        scale = height / view * now.zoom
        right, down, roll = now.camera
        cosine, sine = scale * math.cos(math.radians(roll)), scale * math.sin(math.radians(roll))
        linear = np.array([[cosine, -sine], [sine, cosine]])
        focus = np.array([left + view * 8.0 / 9.0, top + view * 0.5 / now.zoom])
        middle = np.array([height * (8.0 / 9.0 + right), height * (0.5 + down)]) - 0.5
        return np.column_stack([linear, middle - linear @ (focus - np.array(self.head.corner))])

    def _express(self, places: Field, now: Moment) -> list[Paint]:
        """Change ``places`` in place around eyes and mouth; give what is painted over the picture there."""
        paint = []
        for eye in self.eyes:
            rows, columns = _within(places, eye.axes.origin, eye.axes.half + eye.lid)
            blink = eye.blink(places[rows, columns].astype(np.float64), now.blink)
            places[rows, columns] = blink.source
            paint.append(Paint.of(rows, columns, blink.lashes, np.array([LASH_COLOUR])))
        mouth = self.mouth
        rows, columns = _within(places, mouth.axes.origin, 4.2 * mouth.axes.half)
        drop = now.jaw * JAW_DROP * mouth.axes.half
        speech = mouth.speak(places[rows, columns].astype(np.float64), drop, now.rounding * ROUNDING)
        places[rows, columns] = speech.source
        colours = mouth_colours(speech.depth, speech.along, upper_teeth=not mouth.parted)
        paint.append(Paint.of(rows, columns, speech.cavity, colours))
        return paint

    def _light(self, now: Moment, origins: Field) -> Field:
        """Brightness against the portrait's, per pixel of the fields, as the head stands."""
        angle, gain = now.light
        turned = self.head.normals() @ rotation(now.pose).T.astype(np.float32)
        key = np.array([math.sin(math.radians(angle)), -0.25, math.cos(math.radians(angle))])
        rest = np.array([0.0, -0.25, 1.0])
        lit = _AMBIENT + (1.0 - _AMBIENT) * np.maximum(turned @ (key / np.linalg.norm(key)), 0.0)
        still = _AMBIENT + (1.0 - _AMBIENT) * np.maximum(self.head.normals() @ (rest / np.linalg.norm(rest)), 0.0)
        flat = _AMBIENT + (1.0 - _AMBIENT) * (key / np.linalg.norm(key))[2]
        base = _AMBIENT + (1.0 - _AMBIENT) * (rest / np.linalg.norm(rest))[2]
        change = flat / base + self.head.solid * (lit / still - flat / base)
        moved = cv2.remap(
            change.astype(np.float32),
            origins[..., 0],
            origins[..., 1],
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REPLICATE,
        )
        return np.asarray(moved * np.float32(gain), np.float32)


def _seen(field: Field, camera: npt.NDArray[np.float64], size: tuple[int, int]) -> Field:
    """A field as the camera sees it."""
    seen = cv2.warpAffine(field, camera, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(seen, np.float32)


def _within(places: Field, centre: Points, reach: float) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    inside = (np.abs(places[..., 0] - centre[0]) < reach) & (np.abs(places[..., 1] - centre[1]) < reach)
    rows, columns = np.nonzero(inside)
    return rows, columns


def _grain(frame: int, height: int) -> Field:
    """Film grain in levels, about the same size on the screen at every resolution, new in each frame."""
    noise = np.random.default_rng(1_000 + frame).standard_normal((_GRAIN_TILE, _GRAIN_TILE)).astype(np.float32)
    repeats = (-(-height // _GRAIN_TILE), -(-(height * 16 // 9) // _GRAIN_TILE))
    blurred = cv2.GaussianBlur(noise, (0, 0), max(height / 2160.0, 0.3), borderType=cv2.BORDER_REFLECT_101)
    tile = blurred * np.float32(_GRAIN_LEVELS / float(blurred.std()))
    return np.tile(tile, repeats)[:height, : height * 16 // 9]
