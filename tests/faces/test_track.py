"""Following drawn faces: numbers stay with people, whatever they do."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.faces.track import FaceTracker, TrackerLimits
from tests.faces.stage import CANONICAL, Actor, Troupe, colour_of, frames


def follow(scenes, limits=None):
    troupe = Troupe()
    tracker = FaceTracker(troupe.analyser, limits or TrackerLimits())
    return [tracker.observe(frame) for frame in frames(scenes)], troupe


def mesh_of(face):
    assert face.mesh is not None
    return face.mesh


def test_moving_face_keeps_its_number_and_its_place():
    places = [(80 + 3 * step, 100 + step) for step in range(40)]
    seen, _ = follow([[Actor(1, x, y)] for x, y in places])
    assert [[face.track for face in faces] for faces in seen] == [[0]] * 40
    assert [faces[0].fresh for faces in seen] == [True] + [False] * 39
    for (x, y), (face,) in zip(places, seen, strict=True):
        middle = (face.box[:2] + face.box[2:]) / 2
        # The filter may trail by a few per cent of the face's 60 pixels.
        assert np.abs(middle - (x, y)).max() < 3.0
        assert face.box[2] - face.box[0] == pytest.approx(60, abs=3)


def test_mesh_of_a_still_face_is_where_it_was_drawn():
    seen, _ = follow([[Actor(2, 150.0, 110.0)]] * 10)
    expected = CANONICAL[:, :2] * 60 + (150.0, 110.0)
    assert np.abs(mesh_of(seen[-1][0])[:, :2] - expected).max() < 1.0
    assert np.abs(seen[-1][0].landmarks5 - expected[[468, 473, 1, 61, 291]]).max() < 1.0


def test_detector_rests_while_the_face_is_followed():
    seen, troupe = follow([[Actor(1, 100 + step, 100)] for step in range(50)])
    assert all(len(faces) == 1 for faces in seen)
    # At the start, and every half second of the two that pass.
    assert troupe.detector.runs <= 5
    assert troupe.mesh.runs == 50 + 1
    assert troupe.identity.runs <= 6


def test_fast_face_is_followed_by_its_motion():
    # A step of half its size leaves the region of the frame before; its motion foretells it.
    steps = np.cumsum(np.minimum(np.arange(12) * 4, 26))
    seen, troupe = follow([[Actor(1, 40 + x, 100, 52)] for x in steps])
    assert [[face.track for face in faces] for faces in seen] == [[0]] * 12
    assert troupe.detector.runs <= 2


def test_newcomer_is_found_within_the_interval():
    scenes = [[Actor(1, 80, 100)]] * 5 + [[Actor(1, 80, 100), Actor(2, 220, 100)]] * 20
    seen, _ = follow(scenes)
    assert {face.track for face in seen[-1]} == {0, 1}
    first = next(index for index, faces in enumerate(seen) if len(faces) == 2)
    assert first <= 5 + 13


def test_faces_that_are_gone_are_not_given():
    seen, _ = follow([[Actor(1, 100, 100)]] * 5 + [[]] * 5)
    assert [len(faces) for faces in seen] == [1] * 5 + [0] * 5


def test_lost_face_comes_back_under_its_number():
    scenes = [[Actor(1, 100, 100)]] * 6 + [[]] * 10 + [[Actor(1, 210, 120)]] * 6
    seen, _ = follow(scenes)
    assert [face.track for face in seen[16]] == [0]
    assert seen[16][0].fresh
    assert not seen[17][0].fresh


def test_somebody_else_at_the_same_place_gets_another_number():
    seen, _ = follow([[Actor(1, 100, 100)]] * 6 + [[Actor(2, 100, 100)]] * 6)
    assert [face.track for face in seen[5]] == [0]
    assert [(face.track, colour_of(face), face.fresh) for face in seen[6]] == [(1, 2, True)]
    assert [face.track for face in seen[11]] == [1]


def test_numbers_follow_people_who_change_sides_in_a_cut():
    left, right = 90, 230
    scenes = [[Actor(1, left, 100), Actor(2, right, 100)]] * 8 + [[Actor(2, left, 100), Actor(1, right, 100)]] * 8
    seen, _ = follow(scenes)
    before = {colour_of(face): face.track for face in seen[7]}
    for faces in seen[8:]:
        assert {colour_of(face): face.track for face in faces} == before
        assert {face.track: face.box[0] < 160 for face in faces} == {before[2]: True, before[1]: False}


def test_numbers_follow_people_who_cross():
    scenes = [[Actor(1, 60 + 5 * step, 110), Actor(2, 260 - 5 * step, 120)] for step in range(41)]
    seen, _ = follow(scenes)
    start = {colour_of(face): face.track for face in seen[0]}
    end = {face.track: float((face.box[0] + face.box[2]) / 2) for face in seen[-1]}
    assert end[start[1]] == pytest.approx(260, abs=6)
    assert end[start[2]] == pytest.approx(60, abs=6)
    # While one hides the other there is never a second mesh on the face in front.
    for faces in seen:
        middles = [float((face.box[0] + face.box[2]) / 2) for face in faces]
        assert len(middles) < 2 or abs(middles[0] - middles[1]) > 12


def test_number_of_faces_is_bounded_and_the_largest_come_first():
    actors = [Actor(1, 50, 60, 40), Actor(2, 150, 60, 60), Actor(3, 250, 60, 50), Actor(4, 150, 170, 44)]
    seen, _ = follow([actors] * 3, TrackerLimits(faces=2))
    assert [{colour_of(face) for face in faces} for faces in seen] == [{2, 3}] * 3


def test_mesh_alone_is_not_believed_for_ever():
    troupe = Troupe()
    tracker = FaceTracker(troupe.analyser, TrackerLimits(credit=1.0))
    counts = []
    for frame in frames([[Actor(1, 100, 100)]] * 50):
        troupe.detector.blind = frame.index > 0
        counts.append(len(tracker.observe(frame)))
    # Seen at 0 s only; the first search more than a second later is at 1.5 s and ends it.
    assert counts.index(0) in range(26, 40)
    assert not any(counts[counts.index(0) :])


def test_no_face_at_all():
    seen, troupe = follow([[]] * 5)
    assert seen == [()] * 5
    assert troupe.mesh.runs == 0


def test_two_trackers_share_nothing():
    troupe = Troupe()
    tracker = FaceTracker(troupe.analyser)
    scenes = [[Actor(1, 60 + 4 * step, 100)] for step in range(12)]
    first = [tracker.observe(frame) for frame in frames(scenes)]
    another = FaceTracker(troupe.analyser)
    second = [another.observe(frame) for frame in frames(scenes)]
    for (one,), (other,) in zip(first, second, strict=True):
        assert (one.track, one.fresh) == (other.track, other.fresh)
        assert np.array_equal(mesh_of(one), mesh_of(other))
