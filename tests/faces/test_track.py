"""Following drawn faces: numbers stay with people, whatever they do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from facefusion.core.values import Frame
from facefusion.faces.track import FaceTracker, TrackerLimits
from facefusion.pipeline.segments import WARM_UP_FRAMES
from tests.faces.stage import CANONICAL, Actor, Troupe, card, colour_of, draw, frames, scenery


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


def test_no_more_finds_are_measured_than_may_be_followed_and_as_many_again():
    actors = [Actor(1, 50, 60, 40), Actor(2, 150, 60, 60), Actor(3, 250, 60, 50), Actor(4, 150, 170, 44)]
    seen, troupe = follow([actors] * 30, TrackerLimits(faces=1))
    assert [len(faces) for faces in seen] == [1] * 30
    # Two finds in the first frame, by two passes each; then the one that is followed, and nobody who cannot be.
    assert troupe.mesh.runs == 4 + 29


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


def on_stage(scenes, seeds=0):
    """Frames of actors before a backdrop; ``seeds`` is the one of all, or one for each frame."""
    seeds = [seeds] * len(scenes) if isinstance(seeds, int) else seeds
    pictures = [draw(scene, backdrop=scenery(seed)) for scene, seed in zip(scenes, seeds, strict=True)]
    return [Frame(index, Fraction(index, 25), picture) for index, picture in enumerate(pictures)]


def numbers_of(seen):
    return [sorted(face.track for face in faces) for faces in seen]


@pytest.mark.parametrize(("cosine", "number"), [(0.45, 1), (0.7, 0)])
def test_lookalike_far_away_in_one_scene_must_be_recognised_with_certainty(cosine, number):
    troupe = Troupe()
    troupe.identity.resembling = {2: (1, cosine)}
    tracker = FaceTracker(troupe.analyser)
    seen = [tracker.observe(frame) for frame in on_stage([[Actor(1, 50, 100)]] * 8 + [[]] + [[Actor(2, 270, 120)]] * 4)]
    assert numbers_of(seen)[7:] == [[0], []] + [[number]] * 4


def test_after_a_cut_a_likeness_counts_wherever_the_face_is():
    troupe = Troupe()
    troupe.identity.resembling = {2: (1, 0.45)}
    tracker = FaceTracker(troupe.analyser)
    stage = on_stage([[Actor(1, 50, 100)]] * 8 + [[Actor(2, 270, 120)]] * 4, [0] * 8 + [1] * 4)
    seen = [tracker.observe(frame) for frame in stage]
    assert numbers_of(seen) == [[0]] * 12
    assert [faces[0].fresh for faces in seen] == [True] + [False] * 7 + [True] + [False] * 3


@pytest.mark.parametrize(("seed", "number"), [(0, 0), (1, 1)])
def test_view_too_poor_to_say_is_the_same_person_within_a_scene_and_another_after_a_cut(seed, number):
    """Whoever comes out from behind a hand has not changed; whoever stands there after a cut has."""
    troupe = Troupe()
    tracker = FaceTracker(troupe.analyser)
    scenes = [[Actor(1, 150, 110)]] * 8 + [[]] * 3 + [[Actor(1, 154, 112)]] * 4
    seen = []
    for frame in on_stage(scenes, [0] * 8 + [seed] * 7):
        if frame.index == 8:
            troupe.identity.resembling = {1: (5, 0.96)}
        seen.append(tracker.observe(frame))
    assert numbers_of(seen) == [[0]] * 8 + [[]] * 3 + [[number]] * 4


@pytest.mark.parametrize(("same", "number"), [(0.36, 1), (0.28, 0)])
def test_recogniser_says_from_which_likeness_on_two_views_show_one_person(same, number):
    troupe = Troupe(replace(card("sface"), numbers={**card("sface").numbers, "same_likeness": same}))
    troupe.identity.resembling = {2: (1, 0.32)}
    tracker = FaceTracker(troupe.analyser)
    stage = on_stage([[Actor(1, 50, 100)]] * 4 + [[Actor(2, 270, 120)]] * 2, [0] * 4 + [1] * 2)
    seen = [tracker.observe(frame) for frame in stage]
    assert numbers_of(seen) == [[0]] * 4 + [[number]] * 2


def test_singer_is_not_taken_for_the_listener_shown_next():
    """A cut onto another face at the very place, and alike enough to be in doubt."""
    troupe = Troupe()
    troupe.identity.resembling = {2: (1, 0.3)}
    tracker = FaceTracker(troupe.analyser)
    stage = on_stage([[Actor(1, 150, 110)]] * 8 + [[Actor(2, 156, 114)]] * 8, [0] * 8 + [1] * 8)
    seen = [tracker.observe(frame) for frame in stage]
    assert numbers_of(seen) == [[0]] * 8 + [[1]] * 8
    assert [colour_of(faces[0]) for faces in seen] == [1] * 8 + [2] * 8


def test_person_who_walks_behind_a_pillar_keeps_the_number_and_is_seen_soon():
    scenes = [[Actor(1, 100 + step, 110)] if not 12 <= step < 42 else [] for step in range(60)]
    tracker = FaceTracker(Troupe().analyser)
    seen = numbers_of([tracker.observe(frame) for frame in on_stage(scenes)])
    assert seen[:12] == [[0]] * 12
    assert seen[12:42] == [[]] * 30
    # Nobody else is there, so every frame is searched.
    assert seen[42:] == [[0]] * 18


def test_returning_person_is_seen_within_a_fifth_of_a_second_though_others_are_there():
    other = Actor(2, 230, 120)
    scenes = [[other, Actor(1, 100 + step, 110)] if not 12 <= step < 42 else [other] for step in range(60)]
    troupe = Troupe()
    tracker = FaceTracker(troupe.analyser)
    seen = numbers_of([tracker.observe(frame) for frame in on_stage(scenes)])
    assert [numbers for numbers in seen if len(numbers) == 2] == [[0, 1]] * seen.count([0, 1])
    assert seen[42:48].count([0, 1]) >= 1
    assert seen[48:] == [[0, 1]] * 12


def test_who_comes_out_half_hidden_is_who_went_in_and_is_learnt_anew_only_from_good_views():
    troupe = Troupe()
    tracker = FaceTracker(troupe.analyser)
    seen = []
    for frame in on_stage([[Actor(1, 120, 110)]] * 10 + [[]] * 20 + [[Actor(1, 126, 110)]] * 30):
        half_hidden = 30 <= frame.index < 40
        troupe.detector.score = 0.6 if half_hidden else 0.95
        troupe.identity.resembling = {1: (6, 1.0)} if half_hidden else {}
        seen.append(tracker.observe(frame))
    assert numbers_of(seen) == [[0]] * 10 + [[]] * 20 + [[0]] * 30
    assert [colour_of(faces[0]) for faces in seen[30:]] == [1] * 30


def test_first_view_of_a_person_may_be_poor():
    """The number stays, and what was learnt from it gives way to the first good view."""
    troupe = Troupe()
    tracker = FaceTracker(troupe.analyser)
    seen = []
    for frame in on_stage([[Actor(1, 120, 110)]] * 40):
        troupe.detector.score = 0.6 if frame.index < 5 else 0.95
        troupe.identity.resembling = {1: (6, 1.0)} if frame.index < 5 else {}
        seen.append(tracker.observe(frame))
    assert numbers_of(seen) == [[0]] * 40
    assert colour_of(seen[4][0]) == 6
    assert colour_of(seen[-1][0]) == 1
    learned = seen[-1][0].embedding
    assert learned is not None
    assert learned[6] < 0.05


def test_doubtful_find_of_which_the_mesh_is_not_sure_is_left_out():
    troupe = Troupe()
    troupe.detector.score, troupe.mesh.presence = 0.6, 0.97
    tracker = FaceTracker(troupe.analyser)
    assert numbers_of([tracker.observe(frame) for frame in on_stage([[Actor(1, 120, 110)]] * 30)]) == [[]] * 30


def test_doubtful_find_is_given_once_the_detector_or_the_mesh_is_sure():
    for sure in ("detector", "mesh"):
        troupe = Troupe()
        troupe.detector.score, troupe.mesh.presence = 0.6, 0.97
        tracker = FaceTracker(troupe.analyser)
        seen = []
        for frame in on_stage([[Actor(1, 120, 110)]] * 40):
            if frame.index == 10:
                troupe.detector.score, troupe.mesh.presence = (0.95, 0.97) if sure == "detector" else (0.6, 1.0)
            seen.append(tracker.observe(frame))
        begun = next(index for index, faces in enumerate(seen) if faces)
        # The next search is at half a second; the mesh is believed after 0.52 s, by its mean.
        assert begun == {"detector": 13, "mesh": 22}[sure]
        assert numbers_of(seen) == [[]] * begun + [[0]] * (40 - begun)
        assert [faces[0].fresh for faces in seen[begun:]] == [True] + [False] * (39 - begun)


def test_face_that_was_none_for_a_while_begins_anew():
    troupe = Troupe()
    tracker = FaceTracker(troupe.analyser)
    seen = []
    for frame in on_stage([[Actor(1, 120, 110)]] * 75):
        away = 10 <= frame.index < 40
        troupe.detector.score, troupe.mesh.presence = (0.6, 0.4) if away else (0.95, 0.9999)
        seen.append(tracker.observe(frame))
    gone = [index for index, faces in enumerate(seen) if not faces]
    # The mesh's mean has fallen far enough after 0.28 s, and the search at the second finds a face again.
    assert gone == list(range(17, 50))
    assert numbers_of(seen[50:]) == [[0]] * 25
    assert [faces[0].fresh for faces in seen[50:]] == [True] + [False] * 24


def test_clear_find_is_given_whatever_the_mesh_says():
    troupe = Troupe()
    troupe.mesh.presence = 0.55
    tracker = FaceTracker(troupe.analyser)
    assert numbers_of([tracker.observe(frame) for frame in on_stage([[Actor(1, 120, 110)]] * 20)]) == [[0]] * 20


@pytest.mark.parametrize("hidden_from", [20, 36])
def test_strand_sees_who_was_hidden_when_it_began_as_soon_as_the_whole_does(hidden_from):
    """One behind a pillar until frame 56, while another is followed; a strand begins at frame 40."""
    other = Actor(2, 230, 120)
    scenes = [[other] if hidden_from <= step < 56 else [other, Actor(1, 100, 110)] for step in range(80)]
    stage = on_stage(scenes)
    whole, strand = FaceTracker(Troupe().analyser), FaceTracker(Troupe().analyser)
    expected = [len(whole.observe(frame)) for frame in stage]
    assert [len(strand.observe(frame)) for frame in stage[40:]] == expected[40:]
    assert expected[61:] == [2] * 19


def test_cut_in_every_second_does_not_mix_up_three_people():
    places = [(60, 90), (160, 120), (260, 100)]
    scenes, seeds = [], []
    for shot in range(5):
        order = [(shot + person) % 3 for person in range(3)]
        scenes += [[Actor(person + 1, *places[order[person]], 50) for person in range(3)]] * 12
        seeds += [shot] * 12
    tracker = FaceTracker(Troupe().analyser)
    seen = [tracker.observe(frame) for frame in on_stage(scenes, seeds)]
    number = {colour_of(face): face.track for face in seen[0]}
    for faces, scene in zip(seen, scenes, strict=True):
        assert {colour_of(face): face.track for face in faces} == number
        for actor in scene:
            (face,) = (face for face in faces if face.track == number[actor.colour])
            assert np.abs((face.box[:2] + face.box[2:]) / 2 - (actor.x, actor.y)).max() < 3


@pytest.fixture(scope="module")
def busy_stage():
    """Two walk past each other, one comes late, one leaves for a while, a cut at frame 70; and what is seen there."""

    def scene(step):
        actors = [Actor(1, 40 + 2.4 * step, 70, 50), Actor(2, 280 - 2.4 * step, 135, 50)]
        if step >= 26:
            actors.append(Actor(4, 60 + step, 205, 40))
        if not 40 <= step < 46:
            actors.append(Actor(6, 250, 205, 40))
        return actors

    stage = on_stage([scene(step) for step in range(90)], [0] * 70 + [1] * 20)
    tracker = FaceTracker(Troupe().analyser)
    return stage, [tracker.observe(frame) for frame in stage]


@pytest.mark.parametrize("first", [20, 48, 60, 77])
def test_what_is_seen_does_not_depend_on_where_a_segment_begins(busy_stage, first):
    stage, expected = busy_stage
    tracker = FaceTracker(Troupe().analyser)
    found = [tracker.observe(frame) for frame in stage[first - WARM_UP_FRAMES : first + 25]]
    for these, those in zip(found[WARM_UP_FRAMES:], expected[first:], strict=False):
        mine, theirs = ({colour_of(face): mesh_of(face) for face in faces} for faces in (these, those))
        assert mine.keys() == theirs.keys()
        for colour, mesh in mine.items():
            assert np.abs(mesh - theirs[colour])[:, :2].max() < 0.5
