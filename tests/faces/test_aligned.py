from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.graph import PICTURES_AT_ONCE
from facefusion.core.values import Face, Region
from facefusion.faces.aligned import align, rounds
from facefusion.vision.geometry import FACE_TEMPLATES, transform_points
from facefusion.vision.picture import BgrPicture

PICTURE = BgrPicture(np.zeros((8, 8, 3), np.uint8))

places = st.tuples(st.floats(0, 600), st.floats(0, 400), st.floats(20, 150), st.floats(-180, 180))


def face(x, y, side, angle=0.0):
    turn = np.radians(angle)
    rotation = np.array(((np.cos(turn), -np.sin(turn)), (np.sin(turn), np.cos(turn))))
    points = ((FACE_TEMPLATES["arcface_128"] - 0.5) * side) @ rotation.T + (x, y)
    return Face(box=np.zeros(4, np.float32), score=1.0, landmarks5=points.astype(np.float32))


def touch(first: Region, second: Region):
    across = min(first.right, second.right) - max(first.left, second.left)
    down = min(first.bottom, second.bottom) - max(first.top, second.top)
    return across > 0 and down > 0


def test_the_region_holds_the_whole_crop():
    aligned = align(PICTURE, face(100, 80, 64, angle=30), "arcface_128", 128)
    corners = np.array(((-0.5, -0.5), (127.5, -0.5), (127.5, 127.5), (-0.5, 127.5)))
    back = np.linalg.inv(np.vstack((aligned.frame_to_crop, (0, 0, 1))))[:2]
    frame = transform_points(back, corners)
    left, top, right, bottom = aligned.region
    assert left <= frame[:, 0].min() and frame[:, 0].max() <= right - 1
    assert top <= frame[:, 1].min() and frame[:, 1].max() <= bottom - 1
    # A square of 64 turned by 30 degrees is 87 wide, and little is added.
    assert right - left <= 103


@given(st.lists(st.lists(places, max_size=8), max_size=4))
def test_rounds_keep_the_order_of_each_picture_and_hold_nothing_that_touches(found):
    aligned = [[align(PICTURE, face(*place), "arcface_128", 64) for place in places] for places in found]
    groups = list(rounds(aligned))
    for number, faces in enumerate(aligned):
        assert [place.face for group in groups for place in group if place.picture == number] == [*range(len(faces))]
    for group in groups:
        assert 1 <= len(group) <= PICTURES_AT_ONCE
        regions = [(place.picture, aligned[place.picture][place.face].region) for place in group]
        assert not any(
            picture == other and touch(a, b) for n, (picture, a) in enumerate(regions) for other, b in regions[:n]
        )


def test_a_round_takes_faces_of_every_picture_up_to_the_limit():
    left, middle, right = face(60, 100, 60), face(200, 100, 60), face(340, 100, 60)
    touching = face(80, 100, 60)
    faces = [[left, touching], [], [left, middle, right], [right, left]]
    aligned = [[align(PICTURE, one, "arcface_128", 64) for one in ones] for ones in faces]
    assert [[tuple(place) for place in group] for group in rounds(aligned)] == [
        [(0, 0), (2, 0), (2, 1), (2, 2)],
        [(3, 0), (3, 1)],
        [(0, 1)],
    ]


@pytest.mark.parametrize(("side", "most"), [(64, 4), (512, 4), (640, 2), (1024, 1), (2048, 1)])
def test_large_crops_go_in_smaller_rounds(side, most):
    aligned = [[align(PICTURE, face(100, 100, 50), "arcface_128", side)] for _ in range(5)]
    assert [len(group) for group in rounds(aligned)] == [most] * (5 // most) + [5 % most] * (5 % most > 0)


def test_a_crop_is_cut_from_the_picture_and_pasted_back_into_it():
    picture = BgrPicture(np.full((200, 300, 3), 40, np.uint8))
    laid = align(picture, face(150, 100, 64), "arcface_128", 64)
    crop = laid.cut()
    assert crop.pixels.shape == (64, 64, 3) and crop.pixels.dtype == np.uint8
    assert crop.picture is picture and crop.face is laid.face
    laid.paste(np.full((64, 64, 3), 200, np.uint8), np.ones((64, 64), np.float32))
    assert (laid.cut().pixels[4:-4, 4:-4] == 200).all()
    assert (picture.pixels[:50] == 40).all()
