"""Who becomes whom: the notation, and the choice of faces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.core.errors import FaceNotFoundError, UsageError
from facefusion.core.values import Face
from facefusion.faces.face_map import FORM, FaceMap, Recast
from facefusion.faces.recast import RecastSelector, Reference, find_numbered_faces, lookalikes
from facefusion.faces.selection import Selector
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.faces.sources import find_source_faces
from facefusion.faces.track import FaceTracker
from facefusion.faces.traits import TraitFilter
from facefusion.observability.events import Event, Notice, StageFinished, StageProgress, StageStarted
from tests.faces.fakes import blank
from tests.faces.stage import Actor, Troupe, colour_of, draw, frames

NAMES = st.text(st.sampled_from("=+ab1 .'\""), min_size=1, max_size=8).filter(lambda name: Path(name) != Path())


@pytest.mark.parametrize(
    ("item", "reference", "sources"),
    [
        ("anna.jpg=carla.jpg", Path("anna.jpg"), ("carla.jpg",)),
        ("2=my face.jpg", 2, ("my face.jpg",)),
        ("./2=a.jpg+b c.jpg+d.jpg", Path("2"), ("a.jpg", "b c.jpg", "d.jpg")),
        ("me+you.jpg=a++b.jpg+c", Path("me+you.jpg"), ("a+b.jpg", "c")),
        ("x==1.jpg=y==2.jpg", Path("x=1.jpg"), ("y=2.jpg",)),
        ("a===b", Path("a="), ("b",)),
        ("C:\\old\\1.png=..\\new.png", Path("C:\\old\\1.png"), ("..\\new.png",)),
    ],
)
def test_notation(item: str, reference: Path | int, sources: tuple[str, ...]) -> None:
    assert Recast.read(item) == (reference, tuple(Path(source) for source in sources))


@pytest.mark.parametrize("item", ["", "a.jpg", "=b.jpg", "a.jpg=", "a=b=c", "a==b", "a=b+", "a=+b", "a=b+++", "=="])
def test_what_is_no_notation(item: str) -> None:
    with pytest.raises(ValueError, match="is not written as REFERENCE=SOURCE") as refused:
        Recast.read(item)
    assert str(refused.value) == f"{item!r} is not written as {FORM.text}"


@given(st.one_of(NAMES.filter(lambda name: not name.startswith("=")).map(Path), st.integers(0, 10**9 - 1)), NAMES)
def test_what_is_written_is_read_back(reference: Path | int, source: str) -> None:
    item = Recast(reference, (Path(source), Path("b.jpg"), Path(source)))
    assert Recast.read(str(item)) == item


def test_a_renamed_file_is_renamed_wherever_it_stands() -> None:
    item = Recast.read("a.jpg=b.jpg+a.jpg")
    assert (
        str(item.renamed(lambda path: Path("x=y.jpg") if path == Path("a.jpg") else path)) == "x==y.jpg=b.jpg+x==y.jpg"
    )
    assert str(Recast.read("1=b.jpg").renamed(lambda path: Path("c.jpg"))) == "1=c.jpg"


def test_a_person_who_takes_two_places_is_prepared_once() -> None:
    mapping = FaceMap.of(["a.jpg=x.jpg+y.jpg", "1=z.jpg", "b.jpg=x.jpg+y.jpg"])
    assert mapping.people == ((Path("x.jpg"), Path("y.jpg")), (Path("z.jpg"),))
    assert mapping.files == tuple(
        (role, Path(name))
        for role, name in [
            ("reference", "a.jpg"),
            ("source", "x.jpg"),
            ("source", "y.jpg"),
            ("source", "z.jpg"),
            ("reference", "b.jpg"),
        ]
    )
    assert (mapping.faces_needed, FaceMap.of(["a=b"]).faces_needed) == (2, 0)


@pytest.mark.parametrize(
    ("items", "named"), [(("1=a.jpg", "01=b.jpg"), "face 1"), (("x.jpg=a.jpg", "f/../x.jpg=b.jpg"), "f/../x.jpg")]
)
def test_a_reference_is_named_once(items: tuple[str, ...], named: str) -> None:
    with pytest.raises(UsageError) as refused:
        FaceMap.of(items)
    assert str(refused.value) == (
        f"--face-map names the reference {named} twice. "
        "Several photos of one source are joined by +, as in REFERENCE=ONE.jpg+TWO.jpg."
    )


def looking(degrees: float) -> np.ndarray:
    """An identity at an angle."""
    return np.array((np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0), np.float32)


STRANGER = np.array((0, 0, 1), np.float32)
HERE, THERE = Reference(looking(0), 1), Reference(looking(40), 0)


def face(embedding: np.ndarray | None, track: int | None = None, left: float = 0.0) -> Face:
    box = np.array((left, 0, left + 10, 10), np.float32)
    return Face(box, 0.9, np.zeros((5, 2), np.float32), embedding=embedding, track=track)


def cast(selector: Selector, *faces: Face) -> list[int]:
    return [chosen.source for chosen in selector.select(faces)]


def test_a_face_goes_to_the_nearest_reference_and_strangers_stay() -> None:
    selector = RecastSelector(FaceSelectorSettings(face_selector_order="left-right"), (HERE, THERE))
    faces = [face(looking(angle), left=place) for place, angle in enumerate((19, 21, -10, 60))]
    assert cast(selector, *faces, face(STRANGER), face(None)) == [1, 0, 1, 0]
    assert [chosen.box[0] for chosen in selector.select([faces[2], face(STRANGER, left=9), faces[0]])] == [0, 2]


def test_the_limit_is_that_of_the_reference() -> None:
    near = FaceSelectorSettings(reference_face_distance=0.01)
    selector = RecastSelector(near, (HERE, THERE))
    # Half of 1 - cos 11.48 degrees is 0.01.
    assert [cast(selector, face(looking(angle))) for angle in (11.4, 11.6, 28.4, 28.6)] == [[1], [], [], [0]]


def test_a_track_stays_with_its_reference_until_another_is_clearly_nearer() -> None:
    selector = RecastSelector(FaceSelectorSettings(), (HERE, THERE))
    # The other is nearer from 20 degrees on, and by 0.05 from 28.4 on.
    angles = (19, 21, 28, 29, 21, 12, 11)
    assert [cast(selector, face(looking(angle), 7)) for angle in angles] == [[1], [1], [1], [0], [0], [0], [1]]
    assert cast(selector, face(looking(28), 8)) == [0]


def test_a_track_that_drifts_is_kept_a_little_beyond_the_limit() -> None:
    selector = RecastSelector(FaceSelectorSettings(), (HERE,))
    # Distances 0.29, 0.34, 0.36 and 0.34.
    angles = [float(np.degrees(np.arccos(1 - 2 * gap))) for gap in (0.29, 0.34, 0.36, 0.34)]
    assert [cast(selector, face(looking(angle), 7)) for angle in angles] == [[1], [1], [], []]


def test_two_who_cross_keep_their_own_and_a_third_is_left_alone() -> None:
    troupe = Troupe()
    red, blue = (find_source_faces([("", draw([Actor(colour, 100, 100)]))], troupe.analyser)[0] for colour in (4, 1))
    references = [
        Reference(one.face.embedding, person)
        for person, one in enumerate((red, blue))
        if one.face.embedding is not None
    ]
    selector, tracker = RecastSelector(FaceSelectorSettings(), references), FaceTracker(troupe.analyser)
    scenes = [[Actor(1, 260 - 4 * n, 110), Actor(2, 160, 200, 40), Actor(4, 60 + 4 * n, 90)] for n in range(51)]
    seen = [selector.select(tracker.observe(frame)) for frame in frames(scenes)]
    whole = [{colour_of(one): one.source for one in chosen} for chosen in seen]
    assert whole[0] == whole[-1] == {4: 0, 1: 1}
    assert all(found.items() <= {4: 0, 1: 1}.items() for found in whole)
    where = {one.source: float(one.box[0]) for one in seen[-1]}
    assert where[0] > where[1] + 100


class Sink:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)


ONE, BOTH = [Actor(3, 160, 120)], [Actor(2, 80, 100, 50), Actor(5, 220, 100, 80)]


def numbered(*scenes: list[Actor], number: int = 1, explicit: bool = False) -> tuple[list[int], list[Event]]:
    """Whom the faces of the reference frame show, and what was said."""
    settings, sink = FaceSelectorSettings(face_map=(f"{number}=a.jpg",)), Sink()
    found = find_numbered_faces(frames(scenes), Troupe().analyser, settings, sink, explicit=explicit)
    return [colour_of(one) for one in found], sink.events


def test_numbers_count_the_faces_of_the_reference_frame_in_the_order() -> None:
    assert numbered(BOTH, explicit=True) == ([5, 2], [])
    assert numbered(ONE, number=0) == ([3], [])


def test_the_first_frame_that_shows_enough_faces_serves_where_none_was_chosen() -> None:
    said = "Frame 0 shows too few faces, as --face-map names face 1, counted from 0; they are counted in frame 2."
    looking = StageStarted("Looking for a frame that shows 2 faces", unit="picture")
    assert numbered(ONE, [], BOTH, ONE) == ([5, 2], [looking, *[StageProgress()] * 2, StageFinished(), Notice(said)])


def test_a_search_in_vain_through_the_whole_target_is_told_too() -> None:
    settings, sink = FaceSelectorSettings(face_map=("1=a.jpg",)), Sink()
    with pytest.raises(FaceNotFoundError):
        find_numbered_faces(frames([ONE] * 5), Troupe().analyser, settings, sink, explicit=False)
    looking = StageStarted("Looking for a frame that shows 2 faces", unit="picture")
    assert sink.events == [looking, *[StageProgress()] * 5, StageFinished()]


@pytest.mark.parametrize(
    ("explicit", "fault"),
    [
        (True, "Frame 0 of the target, chosen with --reference-frame-number, shows 1 face"),
        (False, "No frame of the target from 0 on shows 3 faces"),
    ],
)
def test_too_high_a_number_is_refused(explicit: bool, fault: str) -> None:
    with pytest.raises(FaceNotFoundError) as refused:
        numbered(ONE, BOTH, number=2, explicit=explicit)
    assert str(refused.value) == (
        f"{fault}, and --face-map names face 2, counted from 0. Choose another frame with "
        "--reference-frame-number, or name a picture of the person in place of a number."
    )


def test_filters_say_who_is_counted() -> None:
    settings = FaceSelectorSettings(face_map=("0=a.jpg",))
    nobody = TraitFilter(gender="female")
    with pytest.raises(FaceNotFoundError) as refused:
        find_numbered_faces(frames([ONE]), Troupe().analyser, settings, Sink(), explicit=False, people=nobody)
    assert "on shows 1 face that the filters of gender, age and group let through, and" in refused.value.fault


def test_references_that_look_alike_are_told_where_it_matters() -> None:
    assert lookalikes((HERE, THERE, Reference(STRANGER, 2)), 0.3) == ((0, 1),)
    assert lookalikes((HERE, THERE._replace(person=1)), 0.3) == ()
    assert lookalikes((HERE, THERE), 0.1) == ()


def test_a_picture_without_the_person_is_named() -> None:
    with pytest.raises(FaceNotFoundError, match=r"No face was found in the reference wall\.jpg"):
        find_source_faces([("wall.jpg", blank())], Troupe().analyser, "reference")


def test_the_number_goes_with_the_face() -> None:
    found = RecastSelector(FaceSelectorSettings(), (HERE,)).select([replace(face(looking(3)), score=0.7)])
    assert [(one.source, one.score) for one in found] == [(1, 0.7)]
