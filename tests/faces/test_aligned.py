from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.values import Face, Region
from facefusion.faces.aligned import align, apart
from facefusion.vision.geometry import FACE_TEMPLATES, transform_points

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
    aligned = align(face(100, 80, 64, angle=30), "arcface_128", 128)
    corners = np.array(((-0.5, -0.5), (127.5, -0.5), (127.5, 127.5), (-0.5, 127.5)))
    back = np.linalg.inv(np.vstack((aligned.frame_to_crop, (0, 0, 1))))[:2]
    frame = transform_points(back, corners)
    left, top, right, bottom = aligned.region
    assert left <= frame[:, 0].min() and frame[:, 0].max() <= right - 1
    assert top <= frame[:, 1].min() and frame[:, 1].max() <= bottom - 1
    # A square of 64 turned by 30 degrees is 87 wide, and little is added.
    assert right - left <= 103


@given(st.lists(places, max_size=8))
def test_groups_keep_the_order_and_hold_nothing_that_touches(found):
    aligned = [align(face(*place), "arcface_128", 64) for place in found]
    groups = list(apart(aligned))
    assert [one for group in groups for one in group] == aligned
    for group in groups:
        assert not any(touch(a.region, b.region) for n, a in enumerate(group) for b in group[:n])
    for before, group in pairwise(groups):
        assert any(touch(group[0].region, one.region) for one in before)
