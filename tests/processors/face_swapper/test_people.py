"""Several people of the sources, each put in the place of the faces that carry their number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from facefusion.processors.base import people
from facefusion.processors.face_swapper.families.mesh.family import MeshFamily
from facefusion.processors.face_swapper.processor import FaceSwapper
from facefusion.vision.picture import BgrPicture
from tests.processors.face_swapper.test_networks import PIXELS
from tests.processors.face_swapper.toy_shop import ToyShop, source, swap
from tests.processors.fakes import processed
from tests.toys import heads
from tests.toys.scenes import face

TARGETS = (face(70, 80, 60), face(230, 90, 60), face(150, 190, 60))


def of_person(number, *sources):
    return [replace(one, person=number) for one in sources]


def cast(*numbers):
    return [replace(target, source=number) for target, number in zip(TARGETS, numbers, strict=True)]


def given_to(shop, *sources, faces, **options):
    """What the toy network was told of who is put into each face."""
    swap(shop.swapper(*sources, **options), BgrPicture(PIXELS.copy()), faces)
    return [run["source"] for run in shop.given("toy")]


@pytest.mark.parametrize("family", ["inswapper", "simswap", "blendswap", "uniface"])
@pytest.mark.parametrize("weight", [0.5, 0.2])
def test_each_face_is_given_its_person_in_one_run_of_the_network(tmp_path, family, weight):
    first, second = (source(8, angle=-20), source(9)), (source(12),)
    alone = []
    for sources in (first, second):
        with ToyShop(tmp_path, family, batch="n") as shop:
            alone += given_to(shop, *sources, faces=TARGETS, weight=weight)
    with ToyShop(tmp_path, family, batch="n") as shop:
        mapped = (*of_person(0, *first), *of_person(1, *second))
        (together,) = given_to(shop, *mapped, faces=cast(1, 0, 1), weight=weight)
    np.testing.assert_array_equal(together, np.stack([alone[1][0], alone[0][1], alone[1][2]]))
    assert (alone[0] != alone[1]).any()


def test_the_mesh_of_each_face_shows_its_person():
    photos = [heads.source(texture=heads.skin(colour=colour, seed=5)) for colour in ((70, 95, 150), (150, 120, 70))]
    places = [heads.mesh(centre=(80, 120), radius=50), heads.mesh(centre=(230, 120), radius=50)]
    pixels = np.maximum(*(heads.paint(place, heads.skin(seed=9), background=0) for place in places))
    faces = [heads.face(place) for place in places]

    def swapped(sources, faces):
        family = MeshFamily(0.5)
        family.prepare(sources)
        swapper, picture = FaceSwapper(family), BgrPicture(pixels.copy())
        processed(swapper, picture, faces, swapper.observe(heads.frame(pixels), faces))
        return picture.pixels

    alone = [swapped([photo], faces) for photo in photos]
    assert (alone[0] != alone[1]).any(axis=2)[:, 160:].any()
    mapped = [*of_person(0, photos[0]), *of_person(1, photos[1])]
    together = swapped(mapped, [replace(faces[0], source=1), faces[1]])
    np.testing.assert_array_equal(together, np.hstack([alone[1][:, :160], alone[0][:, 160:]]))


def test_a_mesh_that_becomes_another_begins_anew():
    photos = [heads.source(texture=heads.skin(colour=colour, seed=5)) for colour in ((70, 95, 150), (150, 120, 70))]
    family = MeshFamily(0.5)
    family.prepare([*of_person(0, photos[0]), *of_person(1, photos[1])])
    wide, narrow = heads.mesh(centre=(150, 120), radius=60, wider_eyes=0.03), heads.mesh(centre=(150, 120), radius=60)
    pixels = heads.paint(narrow, heads.skin(seed=9))
    family.observe(heads.frame(pixels), heads.face(wide, track=3, fresh=True))
    changed = family.observe(heads.frame(pixels, 1), replace(heads.face(narrow, track=3), source=1))
    anew = family.afresh().observe(heads.frame(pixels, 1), replace(heads.face(narrow, track=3, fresh=True), source=1))
    np.testing.assert_array_equal(changed.shifts, anew.shifts)


def test_people_are_told_apart_by_number():
    one, two, three = source(1), source(2), source(3)
    numbered = (replace(one, person=1), two, replace(three, person=1))
    assert people(numbered) == ((two,), (numbered[0], numbered[2]))
    assert people(()) == ()
    with pytest.raises(ValueError, match=r"numbered \[0, 2\]"):
        people((one, replace(two, person=2)))
