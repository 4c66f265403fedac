"""Filters by gender, age and group, and that nobody blinks in and out of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from facefusion.core.errors import FaceNotFoundError, UsageError
from facefusion.core.values import Face, FaceTraits
from facefusion.faces.analyse import FaceAnalyser
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.detect.yunet import YuNet
from facefusion.faces.landmark.mesh import FaceMesh
from facefusion.faces.recognise.sface import SFace
from facefusion.faces.selection import FaceSelector, find_reference
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.faces.track import FaceTracker
from facefusion.faces.traits import LOOKS, TraitFilter, TraitVote, automatic_filters, check_ages
from facefusion.observability.events import Notice
from tests.faces.stage import Actor, Troupe, card, colour_of, draw, frames
from tests.inference.fakes import Heard

GIRL = FaceTraits("female", (10, 20), "asian")
WOMAN = FaceTraits("female", (30, 40), "black")
MAN = FaceTraits("male", (40, 50), "white")


def face(traits, left=0.0, **rest):
    box = np.array((left, 0, left + 10, 10), np.float32)
    return Face(box, 0.9, np.zeros((5, 2), np.float32), traits=traits, **rest)


def passing(people, source=None, **settings):
    people_meant = TraitFilter.of(FaceSelectorSettings(**settings), source)
    return [traits for traits in people if people_meant.lets_through(face(traits))]


@pytest.mark.parametrize(
    ("settings", "narrowing"),
    [
        ({}, ("reference_face_distance",)),
        ({"face_selector_mode": "many"}, ()),
        ({"face_selector_mode": "one", "face_selector_age_start": 99}, ("face_selector_age_start",)),
        ({"face_selector_gender": "male"}, ("face_selector_gender", "reference_face_distance")),
        ({"face_selector_mode": "many", "face_map": ("a.png=b.png",)}, ("face_map", "reference_face_distance")),
    ],
)
def test_what_may_have_left_everybody_out(settings, narrowing):
    assert FaceSelectorSettings(**settings).narrowing == narrowing


@pytest.mark.parametrize(
    ("settings", "meant"),
    [
        ({}, [GIRL, WOMAN, MAN, None]),
        ({"face_selector_age_start": 0, "face_selector_age_end": 100}, [GIRL, WOMAN, MAN, None]),
        ({"face_selector_gender": "female"}, [GIRL, WOMAN]),
        ({"face_selector_race": "white"}, [MAN]),
        ({"face_selector_gender": "female", "face_selector_race": "white"}, []),
        ({"face_selector_age_start": 20}, [WOMAN, MAN]),
        ({"face_selector_age_start": 19}, [GIRL, WOMAN, MAN]),
        ({"face_selector_age_end": 30}, [GIRL]),
        ({"face_selector_age_end": 31}, [GIRL, WOMAN]),
        ({"face_selector_age_start": 39, "face_selector_age_end": 41}, [WOMAN, MAN]),
        ({"face_selector_age_start": 20, "face_selector_age_end": 30}, []),
    ],
)
def test_who_is_meant(settings, meant):
    assert passing([GIRL, WOMAN, MAN, None], **settings) == meant


def test_auto_is_what_the_source_looks_like():
    auto = {"face_selector_gender": "auto", "face_selector_race": "auto"}
    settings = FaceSelectorSettings(face_selector_gender="auto", face_selector_race="auto", face_selector_age_end=9)
    assert automatic_filters(settings) == ("face_selector_gender", "face_selector_race")
    assert passing([GIRL, WOMAN, MAN], MAN, **auto) == [MAN]
    assert passing([GIRL, WOMAN, MAN], GIRL, face_selector_gender="auto") == [GIRL, WOMAN]
    with pytest.raises(ValueError, match="face_selector_gender = auto needs a source face"):
        passing([GIRL], **auto)


def test_bounds_between_which_nobody_is_are_refused():
    with pytest.raises(UsageError) as refused:
        check_ages(FaceSelectorSettings(face_selector_age_start=30, face_selector_age_end=30))
    assert str(refused.value) == (
        "face_selector_age_start = 30 and face_selector_age_end = 30: no age lies between them. "
        "The end is the first age that is left out: give one above the start."
    )
    check_ages(FaceSelectorSettings(face_selector_age_start=30))
    check_ages(FaceSelectorSettings(face_selector_age_end=30))
    check_ages(FaceSelectorSettings(face_selector_age_start=29, face_selector_age_end=30))


@pytest.mark.parametrize(("mode", "chosen"), [("many", [1, 2]), ("one", [1])])
def test_selection_leaves_the_others_out(mode, chosen):
    settings = FaceSelectorSettings(face_selector_mode=mode, face_selector_order="left-right")
    faces = [face(MAN, 0, track=0), face(GIRL, 20, track=1), face(WOMAN, 40, track=2), face(None, 60, track=3)]
    selected = FaceSelector(settings, None, TraitFilter(gender="female")).select(faces)
    assert [one.track for one in selected] == chosen


def test_the_reference_is_followed_whatever_they_look_like_in_a_frame():
    embedding = np.array((1.0, 0.0), np.float32)
    selector = FaceSelector(FaceSelectorSettings(), embedding, TraitFilter(gender="female"))
    assert len(selector.select([face(MAN, embedding=embedding)])) == 1


def test_an_opinion_changes_once_at_most():
    looks = [replace(MAN, race=race) for race in ("white", "black", "latino")]
    for sequence in product(looks, repeat=LOOKS):
        vote, held = TraitVote(), []
        for look in sequence:
            assert not vote.settled
            vote.hear(look)
            assert vote.traits is not None
            held.append(vote.traits.race)
        assert vote.settled
        assert sum(before != after for before, after in pairwise(held)) <= 1
        race, count = Counter(look.race for look in sequence).most_common(1)[0]
        if count >= 4:
            assert held[-1] == race


def test_traits_are_counted_apart():
    vote = TraitVote()
    for look in (MAN, WOMAN, replace(WOMAN, race="white"), replace(WOMAN, race="white")):
        vote.hear(look)
    assert vote.traits == FaceTraits("female", (30, 40), "white")


class Classifier:
    """Tells colours apart: 1 is the man, 2 the woman. ``slips`` are the looks at which it errs."""

    def __init__(self, *slips):
        self.looks = 0
        self.slips = slips

    def classify(self, picture, points):
        x, y = np.rint(points[:2].mean(axis=0) + np.array((0, 12))).astype(int)
        colour = sum(1 << bit for bit in range(3) if picture.pixels[y, x, bit] > 20)
        self.looks += 1
        if self.looks in self.slips:
            colour = 3 - colour
        return {1: MAN, 2: WOMAN}[colour]


def analyser_with(classifier):
    troupe = Troupe()
    search = FaceSearch(YuNet(card("yunet"), troupe.detector))
    mesh, identity = FaceMesh(card("mesh"), troupe.mesh), SFace(card("sface"), troupe.identity)
    return FaceAnalyser(search, mesh, identity, classifier=classifier)


BOTH = [Actor(1, 80, 100, 70), Actor(2, 220, 100, 60)]


def test_faces_of_a_picture_are_classified_on_request():
    classifier = Classifier()
    analyser = analyser_with(classifier)
    seen = analyser.faces(draw(BOTH), recognise=True, classify=True)
    assert {colour_of(one): one.traits for one in seen} == {1: MAN, 2: WOMAN}
    assert [one.traits for one in analyser.faces(draw(BOTH), recognise=False)] == [None, None]
    assert classifier.looks == 2
    assert Troupe().analyser.faces(draw(BOTH), recognise=False, classify=True)[0].traits is None


def test_a_person_in_a_video_is_looked_at_a_few_times_and_does_not_blink():
    # The classifier errs on the second look at the one and the first at the other.
    classifier = Classifier(2, 3)
    tracker = FaceTracker(analyser_with(classifier))
    selector = FaceSelector(FaceSelectorSettings(face_selector_mode="many"), None, TraitFilter(gender="male"))
    chosen = [
        tuple(colour_of(one) for one in selector.select(tracker.observe(frame), float(frame.time)))
        for frame in frames([BOTH] * 120)
    ]
    assert classifier.looks == 2 * LOOKS
    assert all(1 in colours for colours in chosen)
    assert sum((2 in before) != (2 in after) for before, after in pairwise(chosen)) <= 1
    assert chosen[-1] == (1,)


def test_somebody_who_returns_is_known():
    classifier = Classifier()
    tracker = FaceTracker(analyser_with(classifier))
    here = [Actor(1, 80, 100, 70)]
    seen = [tracker.observe(frame) for frame in frames([here] * 50 + [[]] * 20 + [here] * 50)]
    assert {one.track for faces in seen for one in faces} == {0}
    assert all(one.traits == MAN for faces in seen for one in faces)
    assert classifier.looks <= LOOKS


def test_the_reference_is_one_of_those_meant():
    people = TraitFilter(gender="female")
    analyser = analyser_with(Classifier())
    settings = FaceSelectorSettings()
    found = find_reference(frames([BOTH]), analyser, settings, Heard(), explicit=True, people=people)
    assert found is not None
    assert int(found.argmax()) == 2


def test_a_reference_frame_without_anybody_meant_says_so():
    people, analyser, settings = TraitFilter(gender="female"), analyser_with(Classifier()), FaceSelectorSettings()
    man = [Actor(1, 80, 100, 70)]
    with pytest.raises(FaceNotFoundError) as refused:
        find_reference(frames([man]), analyser, settings, Heard(), explicit=True, people=people)
    assert refused.value.fault == (
        "Frame 0 of the target, chosen with --reference-frame-number, shows no face that the filters of gender, age "
        "and group let through"
    )
    said = Heard()
    assert find_reference(frames([man, BOTH]), analyser, settings, said, explicit=False, people=people) is not None
    assert [event for event in said.events if isinstance(event, Notice)] == [
        Notice(
            "Frame 0 shows no face that the filters of gender, age and group let through; the reference face is taken "
            "from frame 1."
        )
    ]
