"""The parts of the mesh family, one by one."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.core.values import Size
from facefusion.faces.landmark.points import eye_distance
from facefusion.faces.surface import atlas, tone, topology
from facefusion.processors.face_swapper.families.mesh import geometry, grain, light, sharpness
from facefusion.processors.face_swapper.families.mesh.skin import take_skin
from facefusion.vision.filters import blur, resize
from facefusion.vision.picture import BgrPicture
from tests.toys import heads


def unwrapped(size=128, **about):
    return resize(heads.skin(**about), Size(size, size))


def straight(size=128):
    return np.ones((size, size), np.float32)


class TestGeometry:
    def test_a_face_with_the_source_s_proportions_is_left_alone(self):
        source = heads.mesh(radius=90, roll=10)
        shifts = geometry.proportion_shifts(source, heads.mesh(radius=40, yaw=20, roll=-15), 1.0)
        assert np.abs(shifts).max() < 0.05

    def test_eyes_move_apart_as_a_whole_and_the_outline_stays(self):
        target = heads.mesh(radius=100)
        shifts = geometry.proportion_shifts(heads.mesh(wider_eyes=0.06), target, 1.0)
        left, right = (shifts[list(eye)] for eye in topology.FEATURES[:2])
        assert np.ptp(left, axis=0).max() < 1e-4
        assert left[0, 0] < -2
        assert right[0, 0] > 2
        assert np.abs(shifts[list(topology.OVAL)]).max() == 0

    def test_shifts_grow_with_strength_up_to_the_limit(self):
        source, target = heads.mesh(wider_eyes=0.03), heads.mesh(radius=100)
        half, whole = (geometry.proportion_shifts(source, target, strength) for strength in (0.5, 1.0))
        assert whole == pytest.approx(2 * half, abs=1e-3)
        extreme = geometry.proportion_shifts(heads.mesh(wider_eyes=0.5), target, 1.0)
        limit = geometry.LARGEST_SHIFT * eye_distance(target)
        assert np.hypot(*extreme.T).max() <= limit * 1.001

    def test_an_open_mouth_stays_as_open(self):
        target = heads.mesh(open_mouth=0.2)
        shifts = geometry.proportion_shifts(heads.mesh(), target, 1.0)
        moved = target.copy()
        moved[:468, :2] += shifts
        assert geometry.mouth_gap(moved) == pytest.approx(geometry.mouth_gap(target), rel=0.02)

    def test_eyes_are_open_or_closed_one_by_one(self):
        placed = heads.mesh(radius=80, roll=20)
        wink = placed.copy()
        wink[159] = wink[145]
        assert geometry.eye_openings(placed)[0] == pytest.approx(geometry.eye_openings(placed)[1], rel=0.05)
        assert geometry.eye_openings(wink)[0] == 0
        assert geometry.eye_openings(wink)[1] == geometry.eye_openings(placed)[1]

    def test_mouth_state_ignores_size_and_roll(self):
        assert geometry.mouth_state(heads.mesh(radius=30, roll=40)) == pytest.approx(
            geometry.mouth_state(heads.mesh(radius=90)), abs=1e-4
        )


class TestSkin:
    def test_a_frontal_photo_gives_its_texture_back(self):
        texture = heads.skin(contrast=0.2)
        placed = heads.mesh(radius=90)
        skin = take_skin([(BgrPicture(heads.paint(placed, texture)), placed)])
        middle = (slice(90, 190), slice(80, 176))
        assert np.abs(resize(skin.texture, Size(256, 256)) - texture)[middle].mean() < 3

    def test_a_side_under_hair_is_mirrored(self):
        texture = heads.skin(contrast=0.2)
        covered = texture.copy()
        covered[:, 150:] = (20, 18, 16)
        placed = heads.mesh(radius=90)
        skin = take_skin([(BgrPicture(heads.paint(placed, covered)), placed)])
        cheek = resize(skin.texture, Size(256, 256))[120:150, 165:180]
        assert np.abs(cheek.mean(axis=(0, 1)) - texture[120:150, 76:91].mean(axis=(0, 1))).max() < 12

    def test_several_photos_are_averaged_in_the_light_of_the_first(self):
        placed = heads.mesh(radius=90)
        photos = [
            (BgrPicture(heads.paint(placed, heads.skin(seed=1, contrast=contrast))), placed) for contrast in (0.1, 0.9)
        ]
        one, both = take_skin(photos[:1]), take_skin(photos)
        cheek = (slice(250, 330), slice(150, 210))
        assert np.abs(one.texture[cheek].mean(axis=(0, 1)) - both.texture[cheek].mean(axis=(0, 1))).max() < 6
        assert both.mesh == pytest.approx(placed, abs=1e-2)


class TestGrain:
    def test_noise_goes_and_features_stay(self):
        rng = np.random.default_rng(0)
        detail = np.zeros((512, 512, 3), np.float32)
        detail[250:262, 120:400, 0] = -25
        noisy = detail + rng.normal(0, 1.5, detail.shape).astype(np.float32)
        features, noise = grain.split_grain(noisy)
        assert features[..., 0] + noise == pytest.approx(noisy[..., 0], abs=1e-3)
        assert features[300:340, 160:220, 0].std() < 0.4 * noisy[300:340, 160:220, 0].std()
        assert features[254:258, 130:200, 0].mean() < -23

    def test_eyes_have_no_grain(self):
        noisy = np.random.default_rng(0).normal(0, 2, (512, 512, 3)).astype(np.float32)
        _, noise = grain.split_grain(noisy)
        assert np.abs(noise[resize(atlas.masks(256).eyes, Size(512, 512)) > 0.95]).max() < 0.2


class TestSharpness:
    def prepared(self):
        rng = np.random.default_rng(0)
        levels = [blur(rng.normal(0, 12, (512, 512, 3)).astype(np.float32), 1.0)]
        for side in (256, 128, 64):
            levels.append(resize(levels[-1], Size(side, side)))
        noise = [rng.normal(0, 3, level.shape[:2]).astype(np.float32) for level in levels]
        return sharpness.DetailSharpness([np.dstack(pair) for pair in zip(levels, noise, strict=True)])

    def patch(self, softness):
        rng = np.random.default_rng(4)
        lightness = blur(rng.normal(0, 60, (160, 160)).astype(np.float32), 1.0)
        lightness = blur(lightness, softness) if softness else lightness
        return np.repeat((120 + lightness)[..., None], 3, axis=2)

    def test_a_softer_target_asks_for_more_blur(self):
        prepared = self.prepared()
        blurs = [prepared.match(sharpness.fineness_of(self.patch(soft)), 1.0, 1.0).softness for soft in (0, 1, 1.5, 2)]
        assert blurs[0] < 0.3
        assert blurs == sorted(blurs)
        assert blurs[-1] > 1.0

    def test_contrast_does_not_count_as_crispness(self):
        patch = self.patch(1)
        weak = 120 + (patch - 120) * np.float32(0.3)
        assert sharpness.fineness_of(weak).crispness == pytest.approx(sharpness.fineness_of(patch).crispness, rel=0.05)

    def test_a_smooth_target_takes_no_grain_and_a_rough_one_all(self):
        prepared = self.prepared()
        smooth, rough = sharpness.Fineness(1.0, 0.0), sharpness.Fineness(1.0, 50.0)
        assert prepared.match(smooth, 1.0, 1.0).grain == 0
        assert prepared.match(rough, 1.0, 1.0).grain == 1

    def test_texture_density_is_texels_over_pixels(self):
        small, large = (sharpness.texture_density(heads.mesh(radius=radius)) for radius in (50, 100))
        assert small == pytest.approx(2 * large, rel=1e-4)
        assert sharpness.texture_level(4.0, 4) == 2
        assert sharpness.texture_level(0.2, 4) == 0
        assert sharpness.texture_level(1e6, 4) == 3


class TestLight:
    def detail(self, **about):
        placed = heads.mesh(radius=90)
        return light.separate_detail(take_skin([(BgrPicture(heads.paint(placed, heads.skin(**about))), placed)]))

    def measure(self, pixels, detail):
        small = Size(light.FIELD, light.FIELD)
        weights = atlas.masks(light.FIELD).skin * (atlas.masks(light.FIELD).edge > 0.3)
        bare = np.ones((light.FIELD, light.FIELD), np.float32)
        return light.measure_light(tone.to_tone(resize(pixels, small)), weights, bare, detail)

    def test_the_field_is_the_target_s_own_light(self):
        detail = self.detail(colour=(60, 80, 120), seed=1)
        measured = self.measure(heads.skin(colour=(140, 170, 215), seed=2, contrast=0.5), detail)
        expected = tone.to_tone(np.full((1, 1, 3), (140, 170, 215), np.float32))[0, 0]
        cheeks = measured.field[24:34, 14:34].mean(axis=(0, 1))
        assert cheeks == pytest.approx(expected, abs=4)

    def test_a_grey_target_gets_no_colour(self):
        measured = self.measure(np.repeat(heads.skin(seed=2)[..., 1:2], 3, axis=2), self.detail())
        assert measured.grey
        assert measured.gain[1:].tolist() == [0, 0]
        assert not measured.field[..., 1:].any()

    def test_contrast_follows_exposure_within_limits(self):
        detail = self.detail(colour=(120, 150, 200))
        dark = self.measure(heads.skin(colour=(30, 38, 50), seed=2), detail)
        bright = self.measure(heads.skin(colour=(200, 215, 245), seed=2), detail)
        black = self.measure(np.zeros((256, 256, 3), np.float32), detail)
        assert dark.gain[0] < 0.8 < bright.gain[0] <= 2
        assert not black.gain.any()

    def test_colour_on_paler_skin_is_paler_by_as_much(self):
        detail = self.detail(colour=(70, 95, 150), seed=1)
        blush = heads.skin(colour=(205, 212, 225), seed=2)
        blush[70:190:12] *= np.array((1, 0.9, 1), np.float32)
        measured = self.measure(blush, detail)
        pale = tone.to_tone(np.full((1, 1, 3), (205, 212, 225), np.float32))[0, 0]
        ruddy = tone.to_tone(np.full((1, 1, 3), (70, 95, 150), np.float32))[0, 0]
        share = np.hypot(*pale[1:]) / np.hypot(*ruddy[1:])
        assert detail.chroma == pytest.approx(np.hypot(*ruddy[1:]), rel=0.15)
        assert share < 0.4
        assert 0 < measured.gain[1:].max() < 1.6 * share
