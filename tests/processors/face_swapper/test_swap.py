"""The face swapper as the pipeline uses it, on painted heads."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from facefusion.core.errors import FaceFusionError, FaceNotFoundError, ModelError
from facefusion.core.values import Size
from facefusion.processors.base import Scene, Source, Target, Workshop
from facefusion.processors.face_swapper.families.mesh.family import MeshFamily
from facefusion.processors.face_swapper.families.mesh.observe import CROP_SIZES
from facefusion.processors.face_swapper.families.mesh.render import Strength
from facefusion.processors.face_swapper.processor import KIND, FaceSwapper
from facefusion.processors.face_swapper.settings import FaceSwapperSettings
from facefusion.vision.picture import BgrPicture
from tests.processors.fakes import RecordingSink, enlarger_card, processed
from tests.toys import heads

PLACED = heads.mesh(centre=(150, 125), radius=62, yaw=12, roll=5, wider_eyes=0.03)


@pytest.fixture(scope="module")
def family():
    made = MeshFamily(0.5)
    made.prepare([heads.source(texture=heads.skin(colour=(70, 95, 150), seed=5))])
    return made


@pytest.fixture(scope="module")
def target():
    pixels = heads.paint(PLACED, heads.skin(seed=9))
    noise = np.random.default_rng(0).integers(-4, 5, pixels.shape)
    return np.clip(pixels + noise, 0, 255).astype(np.uint8)


def swapped(family, pixels, placed=PLACED, depth=None):
    picture = BgrPicture(pixels.copy())
    face = heads.face(placed)
    swapper = FaceSwapper(family)
    frame = heads.frame(pixels)
    observation = swapper.observe(frame, [face])
    processed(swapper, picture, [face], observation)
    return picture.pixels


def outside_of_the_face(shape):
    inside = heads.paint(PLACED, np.full((256, 256, 3), 255, np.float32), Size(shape[1], shape[0]), 0)[..., 0] > 0
    return ~inside


def test_the_face_changes_and_all_else_stays(family, target):
    result = swapped(family, target)
    away = outside_of_the_face(target.shape)
    assert (result[away] == target[away]).all()
    assert (result != target).any(axis=2)[~away].mean() > 0.5


def test_the_skin_keeps_the_target_s_colour(family, target):
    result = swapped(family, target)
    cheek = (slice(130, 150), slice(125, 140))
    assert np.abs(result[cheek].mean(axis=(0, 1)) - target[cheek].mean(axis=(0, 1))).max() < 8


def test_a_face_swapped_for_itself_hardly_changes(target):
    itself = MeshFamily(0.5)
    itself.prepare([Source("target.png", BgrPicture(target.copy()), heads.face(PLACED))])
    result = swapped(itself, target)
    assert np.abs(result.astype(int) - target).mean() < 1.0
    assert np.abs(result.astype(int) - target).max() < 60


def test_a_grey_target_stays_grey(family, target):
    result = swapped(family, np.repeat(target[..., 1:2], 3, axis=2))
    assert (result == result[..., :1]).all()


def test_closed_eyes_stay_the_target_s():
    family = MeshFamily(0.0)
    family.prepare([heads.source(texture=heads.skin(colour=(70, 95, 150), seed=5))])
    placed = PLACED.copy()
    for upper, lower in ((159, 145), (386, 374), (158, 153), (160, 144), (385, 380), (387, 373)):
        placed[upper] = placed[lower] = (placed[upper] + placed[lower]) / 2
    pixels = heads.paint(placed, heads.skin(seed=9))
    result = swapped(family, pixels, placed)
    observation = family.observe(heads.frame(pixels), heads.face(placed))
    left = np.rint(placed[[33, 133], :2].mean(axis=0)).astype(int)
    eye = (slice(left[1] - 2, left[1] + 3), slice(left[0] - 5, left[0] + 6))
    assert observation.closed == (1, 1)
    assert np.abs(result[eye].astype(int) - pixels[eye]).mean() < 6


def test_same_input_same_pixels(family, target):
    assert (swapped(family, target) == swapped(family, target)).all()


def test_threads_do_not_matter(family):
    swapper = FaceSwapper(family).afresh()
    frames = []
    for index in range(6):
        placed = heads.mesh(centre=(140 + 4 * index, 120), radius=60, yaw=5 * index - 15)
        pixels = heads.paint(placed, heads.skin(seed=9))
        faces = [heads.face(placed, track=1, fresh=index == 0)]
        frames.append((pixels, faces, swapper.observe(heads.frame(pixels, index), faces)))

    def process(entry):
        pixels, faces, observation = entry
        picture = BgrPicture(pixels.copy())
        processed(swapper, picture, faces, observation)
        return picture.pixels

    one_by_one = [process(entry) for entry in frames]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(process, reversed(frames)))
    assert all((a == b).all() for a, b in zip(one_by_one, reversed(at_once), strict=True))


def test_deep_pictures_keep_their_depth(family, target):
    deep = target.astype(np.uint16) * 257
    result = swapped(family, deep)
    assert result.dtype == np.uint16
    away = outside_of_the_face(target.shape)
    assert (result[away] == deep[away]).all()
    assert np.abs(result / 257 - swapped(family, target)).max() < 6
    changed = result[~away]
    assert len(np.unique(changed % 257)) > 50


def test_two_faces_are_swapped_each_in_its_place(family):
    places = [heads.mesh(centre=(x, 120), radius=45) for x in (80, 240)]
    pixels = heads.paint(places[0], heads.skin(seed=2))
    pixels[:, 160:] = heads.paint(places[1], heads.skin(colour=(150, 170, 190), seed=3))[:, 160:]
    faces = [heads.face(place, track=number) for number, place in enumerate(places)]
    swapper = FaceSwapper(family).afresh()
    both = BgrPicture(pixels.copy())
    processed(swapper, both, faces, swapper.observe(heads.frame(pixels), faces))
    alone = BgrPicture(pixels.copy())
    processed(swapper, alone, faces[1:], swapper.observe(heads.frame(pixels), faces[1:]))
    assert (both.pixels[:, 165:] == alone.pixels[:, 165:]).all()
    assert (both.pixels[:, :155] != pixels[:, :155]).any()


def test_a_face_at_the_border_of_the_frame(family):
    placed = heads.mesh(centre=(8, 30), radius=60)
    pixels = heads.paint(placed, heads.skin(seed=9))
    result = swapped(family, pixels, placed)
    assert result.shape == pixels.shape
    assert (result != pixels).any()
    assert (result[150:] == pixels[150:]).all()


@pytest.mark.parametrize("radius", [3, 12, 200])
def test_faces_of_any_size(family, radius):
    placed = heads.mesh(centre=(320, 240), radius=radius)
    pixels = heads.paint(placed, heads.skin(seed=9), Size(640, 480))
    swapper = FaceSwapper(family)
    observation: Any
    (observation,) = swapper.observe(heads.frame(pixels), [heads.face(placed)])
    assert observation.size in CROP_SIZES
    assert swapped(family, pixels, placed).shape == pixels.shape


def test_the_weight_moves_the_features(target):
    source = heads.source(placed=heads.mesh(radius=90, wider_eyes=0.1))
    moved = []
    for weight in (0.0, 0.5, 1.0):
        family = MeshFamily(weight)
        family.prepare([source])
        moved.append(float(np.abs(family.observe(heads.frame(target), heads.face(PLACED)).shifts).max()))
    assert moved[0] == 0
    assert 0 < moved[1] < moved[2]


def test_the_weight_is_what_its_description_says():
    assert Strength.of_weight(0.0) == Strength(shape=0.0, lips=0.75, folds=0.85, eyes=0.0)
    assert Strength.of_weight(0.5) == Strength(shape=0.7, lips=0.75, folds=0.85, eyes=0.0)
    assert Strength.of_weight(1.0) == Strength(shape=1.0, lips=1.0, folds=1.0, eyes=0.5)


class TestOverTime:
    def observe(self, family, pixels, index, **about):
        return family.observe(heads.frame(pixels, index), heads.face(PLACED, **about))

    def test_light_settles_and_a_fresh_track_starts_anew(self, family, target):
        family = family.afresh()
        dim = (target * 0.6).astype(np.uint8)
        settled = self.observe(family, dim, 100).light.field[..., 0].mean()
        self.observe(family, target, 0, track=4, fresh=True)
        lags = [
            abs(self.observe(family, dim, index, track=4).light.field[..., 0].mean() - settled) for index in (1, 2, 20)
        ]
        assert lags[0] > lags[1] > lags[2]
        assert lags[0] > 1
        assert lags[2] < 0.05
        self.observe(family, target, 21, track=4)
        fresh = self.observe(family, dim, 22, track=4, fresh=True).light.field[..., 0].mean()
        assert fresh == pytest.approx(settled, abs=1e-4)

    def test_tracks_do_not_mix(self, family, target):
        family = family.afresh()
        dim = (target * 0.6).astype(np.uint8)
        self.observe(family, target, 0, track=1, fresh=True)
        alone = self.observe(family, dim, 50).light.field
        other = self.observe(family, dim, 1, track=2).light.field
        assert other == pytest.approx(alone, abs=1e-4)

    def test_tracks_that_are_gone_are_forgotten(self, family, target):
        family = family.afresh()
        for number in range(20):
            self.observe(family, target, number * 30, track=number)
        assert len(family._tracks) <= 6

    def test_afresh_knows_no_tracks(self, family, target):
        dim = (target * 0.6).astype(np.uint8)
        self.observe(family, target, 0, track=1)
        family = family.afresh()
        alone = self.observe(family, dim, 50).light.field
        assert self.observe(family, dim, 1, track=1).light.field == pytest.approx(alone, abs=1e-4)


class TestErrors:
    def test_a_source_without_a_mesh_is_named(self):
        source = heads.source()
        blind = dataclasses.replace(source, face=dataclasses.replace(source.face, mesh=None))
        with pytest.raises(FaceNotFoundError, match=r"no face mesh could be laid over the face in source\.png\."):
            MeshFamily(0.5).prepare([blind])

    def test_a_target_without_a_mesh(self, family, target):
        blind = dataclasses.replace(heads.face(PLACED), mesh=None)
        with pytest.raises(FaceFusionError, match="needs the 478 landmarks"):
            family.observe(heads.frame(target), blind)

    def test_an_observation_of_something_else(self, family, target):
        with pytest.raises(TypeError, match="expected what observe"):
            processed(FaceSwapper(family), BgrPicture(target), [heads.face(PLACED)], None)
        with pytest.raises(TypeError, match="expected what observe"):
            family.swap([Scene(BgrPicture(target), [heads.face(PLACED)], ("nothing",))])

    def test_a_family_that_nobody_wrote(self):
        card = dataclasses.replace(enlarger_card(2, 0, 0, 8), name="strange", family="stranger")
        with pytest.raises(ModelError, match="strange belongs to the family stranger"):
            KIND.build(workshop(card))


def workshop(card):
    return Workshop(
        settings=FaceSwapperSettings(face_swapper_weight=0.8),
        cards={"face_swapper": card},
        runner=lambda _: pytest.fail("the mesh family runs no graph"),
        companions={},
        sources=[heads.source()],
        target=Target(Size(320, 240), 25.0, is_video=True),
        events=RecordingSink(),
    )


def test_built_from_its_settings(target):
    card = dataclasses.replace(enlarger_card(2, 0, 0, 8), name="mesh", kind="face_swapper", family="mesh", file=None)
    swapper = KIND.build(workshop(card))
    assert swapper.output_size(Size(7, 9)) == Size(7, 9)
    faces = [heads.face(PLACED)]
    picture = BgrPicture(target.copy())
    assert processed(swapper, picture, faces, swapper.observe(heads.frame(target), faces)) is picture
    assert KIND.needs_sources
    assert KIND.models(FaceSwapperSettings()) == {"face_swapper": "auto"}
