"""The forehead above the mesh."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facefusion.core.values import Size
from facefusion.faces.mask.base import FaceCrop
from facefusion.faces.mask.mesh import MeshOccluder
from facefusion.faces.mask.regions import MeshParser
from facefusion.faces.surface.drawn import draw_surface
from facefusion.faces.surface.forehead import HIGHEST, with_forehead
from facefusion.faces.surface.survey import survey
from facefusion.vision.picture import BgrPicture
from tests.toys import heads

SIZE = Size(320, 240)
PLACED = heads.mesh(centre=(160, 150), radius=60)
TOP, ROOT = PLACED[10, :2], PLACED[168, :2]
HEIGHT = float(np.hypot(*(TOP - ROOT)))
HAIR = (30, 35, 45)


class NoHands:
    def near(self, picture, mesh):
        return []


def scene(bald: float, placed=PLACED, strand=False):
    """A head with dark hair, whose skin goes on above the mesh for ``bald`` of its height from the root of the nose."""
    pixels = heads.paint(placed, heads.skin())
    empty = (pixels == 90).all(axis=2)
    pixels[empty] = HAIR
    top, root = placed[10, :2], placed[168, :2]
    up = top - root
    aside = 0.4 * np.array((-up[1], up[0]))
    corners = (top - aside - 0.1 * up, top + aside - 0.1 * up, top + aside + bald * up, top - aside + bald * up)
    beyond = np.zeros(pixels.shape[:2], np.uint8)
    cv2.fillConvexPoly(beyond, np.rint(corners).astype(np.int32), (255,))
    skin = pixels[int(root[1]) - 10, int(root[0])].tolist()
    pixels[(beyond > 0) & empty] = skin
    if strand:
        y = round(float(top[1])) - 4
        pixels[y - 5 : y + 1, 120:200] = HAIR
    return pixels


def grown(pixels, placed=PLACED):
    looked = survey(BgrPicture(pixels), placed)
    face = draw_surface(looked.bare, placed, SIZE, between_lips=1, outside=0)
    return face, with_forehead(face, pixels, placed, looked.forehead)


def above(part):
    """The pixel straight above the mesh, that part of the height from the root of the nose: row, column."""
    x, y = np.rint(TOP + part * (TOP - ROOT)).astype(int)
    return y, x


def test_what_has_the_colour_of_the_forehead_belongs_to_the_face():
    face, whole = grown(scene(0.3))
    assert face[above(0.15)] == 0
    assert whole[above(0.15)] > 0.9


@pytest.mark.parametrize(
    ("mask", "reached"),
    [
        (lambda crop: MeshOccluder(NoHands()).uncovered([crop])[0], True),
        (lambda crop: MeshParser().regions([crop], frozenset(("skin",)))[0], True),
        (lambda crop: MeshParser().regions([crop], frozenset(("nose",)))[0], False),
    ],
    ids=["occluder", "skin", "nose"],
)
def test_the_embedded_masks_reach_over_it(mask, reached):
    picture = BgrPicture(scene(0.3))
    crop = FaceCrop(picture.to_bgr(), heads.face(PLACED), np.eye(2, 3), picture)
    assert (mask(crop)[above(0.15)] > 0.9) == reached


def test_hair_does_not():
    face, whole = grown(scene(0.0))
    assert whole[above(0.15)] < 0.1
    assert np.abs(whole - face).mean() < 0.01


def test_a_bald_head_ends_somewhere():
    _, whole = grown(scene(1.2))
    assert whole[above(0.9 * HIGHEST)] > 0.9
    assert whole[above(1.1 * HIGHEST)] == 0


def test_skin_behind_a_strand_is_not_reached():
    _, whole = grown(scene(0.4, strand=True))
    assert whole[above(0.3)] < 0.1


def test_a_face_outside_of_the_picture_grows_nowhere():
    placed = PLACED + np.array((1000, 0, 0), np.float32)
    face = np.zeros((240, 320), np.float32)
    looked = survey(BgrPicture(scene(0.3)), PLACED)
    assert with_forehead(face, scene(0.3), placed, looked.forehead) is face


@settings(max_examples=15)
@given(st.floats(0, 1), st.floats(-40, 40), st.floats(-180, 180))
def test_a_face_only_grows_and_only_upwards(bald, yaw, roll):
    placed = heads.mesh(centre=(160, 120), radius=50, yaw=yaw, roll=roll)
    face, whole = grown(scene(bald, placed), placed)
    assert (whole >= face).all()
    assert whole.max() <= 1
    rows, columns = np.nonzero(whole > face + 1 / 255)
    up = placed[10, :2] - placed[168, :2]
    along = (np.stack((columns, rows), axis=1) - placed[168, :2]) @ (up / float(up @ up))
    assert (along > 0).all()
    assert (along < 1 + HIGHEST + 0.1).all()


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_it_ends_at_the_same_place_whatever_the_size_of_the_picture(scale):
    pixels = scene(0.3)
    size = Size(round(320 * scale), round(240 * scale))
    resized = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    placed = ((PLACED + 0.5) * np.float32(scale) - 0.5).astype(np.float32)
    looked = survey(BgrPicture(resized), placed)
    face = draw_surface(looked.bare, placed, size, between_lips=1, outside=0)
    share = with_forehead(face, resized, placed, looked.forehead).mean()
    assert share == pytest.approx(grown(pixels)[1].mean(), rel=0.05)
