"""Orders, modes and the reference."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from facefusion.core.errors import FaceNotFoundError
from facefusion.core.values import Face, Frame
from facefusion.faces.selection import FaceSelector, find_reference, reference_face, sort_faces
from facefusion.faces.settings import ORDERS, FaceDetectorSettings, FaceSelectorSettings
from facefusion.faces.sources import find_source_faces
from facefusion.observability.events import Event, Notice, StageFinished, StageProgress, StageStarted
from tests.faces.fakes import blank
from tests.faces.stage import Actor, Troupe, colour_of, draw


def embedding(cosine):
    """A unit vector with that cosine to (1, 0)."""
    return np.array((cosine, (1 - cosine * cosine) ** 0.5), np.float32)


REFERENCE = embedding(1.0)


def face(left=0.0, top=0.0, side=10.0, score=0.9, cosine=1.0, track=None):
    box = np.array((left, top, left + side, top + side), np.float32)
    return Face(box, score, np.zeros((5, 2), np.float32), embedding=embedding(cosine), track=track)


FACES = {"a": face(0, 50, 10, 0.7), "b": face(20, 10, 30, 0.9), "c": face(80, 30, 20, 0.8)}


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("left-right", "abc"),
        ("right-left", "cba"),
        ("top-bottom", "bca"),
        ("bottom-top", "acb"),
        ("small-large", "acb"),
        ("large-small", "bca"),
        ("best-worst", "bca"),
        ("worst-best", "acb"),
    ],
)
def test_orders(order, names):
    assert sort_faces(FACES.values(), order) == tuple(FACES[name] for name in names)


def test_every_order_of_the_settings_is_known_and_stable():
    same = [face(), face(), face()]
    for order in ORDERS:
        assert all(one is other for one, other in zip(sort_faces(same, order), same, strict=True))


def test_many_gives_all_in_order():
    selector = FaceSelector(FaceSelectorSettings(face_selector_mode="many", face_selector_order="left-right"))
    assert selector.select([FACES["c"], FACES["a"]]) == (FACES["a"], FACES["c"])


def test_one_gives_the_first():
    selector = FaceSelector(FaceSelectorSettings(face_selector_mode="one"))
    assert selector.select(list(FACES.values())) == (FACES["b"],)
    assert selector.select([]) == ()


def test_one_does_not_waver_between_two():
    selector = FaceSelector(FaceSelectorSettings(face_selector_mode="one"))
    chosen = []
    for index in range(20):
        wobble = 1 if index % 2 else -1
        faces = [face(0, 0, 50 + wobble, track=0), face(80, 0, 50 - wobble, track=1)]
        chosen.append(selector.select(faces, index / 25)[0].track)
    assert set(chosen) == {1}


def test_one_turns_to_a_face_that_stays_first():
    selector = FaceSelector(FaceSelectorSettings(face_selector_mode="one"))
    small, large = face(side=20, track=0), face(side=60, track=1)
    assert selector.select([small], 0.0)[0].track == 0
    assert [selector.select([small, large], time)[0].track for time in (0.1, 0.4, 0.59, 0.61, 0.7)] == [0, 0, 0, 1, 1]


def test_one_takes_another_at_once_when_the_chosen_is_gone():
    selector = FaceSelector(FaceSelectorSettings(face_selector_mode="one"))
    selector.select([face(track=0)], 0.0)
    assert selector.select([face(track=4)], 0.04)[0].track == 4


@pytest.mark.parametrize(("cosine", "taken"), [(1.0, True), (0.41, True), (0.39, False), (0.0, False), (-1.0, False)])
def test_reference_takes_a_distance_below_the_limit(cosine, taken):
    selector = FaceSelector(FaceSelectorSettings(), REFERENCE)
    assert bool(selector.select([face(cosine=cosine)])) is taken


def test_reference_limit_itself_is_out():
    half = FaceSelectorSettings(reference_face_distance=0.5)
    assert FaceSelector(half, REFERENCE).select([face(cosine=0.0)]) == ()


def test_reference_sticks_to_a_track_it_took():
    selector = FaceSelector(FaceSelectorSettings(), REFERENCE)
    # Distances 0.325 on either side of being taken, and 0.375.
    assert selector.select([face(cosine=0.35, track=3)]) == ()
    assert len(selector.select([face(cosine=0.5, track=3)])) == 1
    assert len(selector.select([face(cosine=0.35, track=3)])) == 1
    assert selector.select([face(cosine=0.25, track=3)]) == ()
    assert selector.select([face(cosine=0.35, track=3)]) == ()
    selector.select([face(cosine=0.5, track=3)])
    fresh = FaceSelector(FaceSelectorSettings(), REFERENCE)
    assert fresh.select([face(cosine=0.35, track=3)]) == ()


def test_reference_without_one_takes_nobody():
    assert FaceSelector(FaceSelectorSettings()).select([face()]) == ()
    assert FaceSelector(FaceSelectorSettings(), REFERENCE).select([replace(face(), embedding=None)]) == ()


@pytest.mark.parametrize(
    ("position", "name"), [(0, "b"), (1, "c"), (2, "a"), (9, "a"), (-1, "a"), (-3, "b"), (-9, "b")]
)
def test_reference_position(position, name):
    settings = FaceSelectorSettings(reference_face_position=position)
    assert reference_face(list(FACES.values()), settings) is FACES[name]


class Sink:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)


def target(*scenes, first=0):
    for index, scene in enumerate(scenes):
        yield Frame(first + index, Fraction(first + index, 25), draw(scene))


def test_reference_comes_from_the_frame_and_position():
    sink, settings = Sink(), FaceSelectorSettings(reference_face_position=1)
    scene = [Actor(2, 80, 100, 50), Actor(5, 220, 100, 80)]
    reference = find_reference(target(scene, []), Troupe().analyser, settings, sink, explicit=True)
    assert reference is not None
    assert int(reference.argmax()) == 2
    assert sink.events == []


def test_frame_the_user_chose_must_show_a_face():
    frames = target([], [Actor(1, 100, 100)], first=12)
    with pytest.raises(FaceNotFoundError) as caught:
        find_reference(frames, Troupe().analyser, FaceSelectorSettings(), Sink(), explicit=True)
    assert str(caught.value) == (
        "Frame 12 of the target, chosen with --reference-frame-number, shows no face. "
        "Choose a frame that does, or work on all faces with --face-selector-mode many."
    )


def test_first_frame_with_a_face_serves_where_none_was_chosen():
    sink, seen = Sink(), []

    def frames():
        for frame in target([], [], [Actor(3, 100, 100)], [Actor(1, 100, 100)]):
            seen.append(frame.index)
            yield frame

    reference = find_reference(frames(), Troupe().analyser, FaceSelectorSettings(), sink, explicit=False)
    assert reference is not None
    assert int(reference.argmax()) == 3
    assert seen == [0, 1, 2]
    assert sink.events == [
        StageStarted("Looking for a frame that shows 1 face", unit="picture"),
        *[StageProgress()] * 2,
        StageFinished(),
        Notice("Frame 0 shows no face; the reference face is taken from frame 2."),
    ]


def test_target_without_any_face_has_no_reference():
    assert find_reference(target([], []), Troupe().analyser, FaceSelectorSettings(), Sink(), explicit=False) is None


def test_source_is_the_largest_face_of_each_photo():
    photos = [
        ("one.jpg", draw([Actor(1, 80, 100, 50), Actor(2, 220, 100, 80)])),
        ("two.jpg", draw([Actor(4, 100, 100)])),
    ]
    sources = find_source_faces(photos, Troupe().analyser)
    assert [(source.path, colour_of(source.face)) for source in sources] == [("one.jpg", 2), ("two.jpg", 4)]
    assert sources[1].picture is photos[1][1]


def test_sources_without_a_face_are_named():
    photos = [("wall.jpg", blank()), ("me.jpg", draw([Actor(1, 80, 100)])), ("sea.png", blank())]
    with pytest.raises(FaceNotFoundError) as caught:
        find_source_faces(photos, Troupe().analyser)
    assert caught.value.fault == "No face was found in the source wall.jpg, sea.png"
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("given", "margin"),
    [((7,), (7, 7, 7, 7)), ((1, 2), (1, 2, 1, 2)), ((1, 2, 3), (1, 2, 3, 2)), ((1, 2, 3, 4), (1, 2, 3, 4))],
)
def test_margin_is_written_as_in_css(given, margin):
    assert FaceDetectorSettings(face_detector_margin=given).margin == margin


def test_detector_size_as_numbers():
    assert FaceDetectorSettings(face_detector_size="320x320").limit == (320, 320)
