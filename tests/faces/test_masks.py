"""Which part of a face is changed: each mask by itself, and all of them together."""

from __future__ import annotations

import dataclasses

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from facefusion.core.errors import FaceFusionError
from facefusion.core.values import Face, Size
from facefusion.faces.landmark.points import SIXTY_EIGHT
from facefusion.faces.mask.area import AREAS, area_mask
from facefusion.faces.mask.base import (
    AREA,
    BOX,
    NO_MASKS,
    OCCLUSION,
    OUTLINE_MASKS,
    REGION,
    SEAM_MASKS,
    SWAP_MASKS,
    MaskUse,
)
from facefusion.faces.mask.box import Padding, box_mask, padding_mask
from facefusion.faces.mask.curve import soften_inward
from facefusion.faces.mask.masker import BOUND_SIDE, BOUND_TEMPLATE, PLAIN, FaceMasker
from facefusion.faces.mask.placed import PlacedMask
from facefusion.faces.settings import MASK_AREAS, FaceMaskerSettings
from facefusion.vision.geometry import FACE_TEMPLATES, SquareRegion, compose, fit_template, invert, transform_points
from tests.faces.fakes import ArrayPicture, blank, cut

SQUARE = Size(256, 256)
IDENTITY = np.array(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))

sides = st.integers(16, 96)
blurs = st.integers(0, 20).map(lambda step: step / 20)
paddings = st.builds(Padding, *[st.integers(0, 100)] * 4)


class TestBox:
    def test_by_default_as_facefusion_draws_it(self):
        """At 256 pixels and blur 0.3: 38 pixels of softness, 19 of edge."""
        expected = np.zeros((256, 256), np.float32)
        expected[19:-19, 19:-19] = 1
        np.testing.assert_allclose(box_mask(SQUARE, 0.3, Padding()), cv2.GaussianBlur(expected, (0, 0), 9.5), atol=1e-6)

    def test_without_blur_one_pixel_is_kept(self):
        mask = box_mask(Size(8, 6), 0.0, Padding())
        assert mask[1:-1, 1:-1].min() == 1
        assert mask.sum() == 6 * 4

    def test_padding_counts_from_each_side_in_percent_of_it(self):
        mask = box_mask(Size(200, 100), 0.0, Padding(top=10, right=20, bottom=30, left=40))
        rows, columns = np.nonzero(mask)
        assert (rows.min(), rows.max() + 1) == (10, 70)
        assert (columns.min(), columns.max() + 1) == (80, 160)
        assert set(np.unique(mask)) == {0, 1}

    def test_padding_less_than_the_edge_changes_nothing(self):
        np.testing.assert_array_equal(box_mask(SQUARE, 0.3, Padding(7, 7, 7, 7)), box_mask(SQUARE, 0.3, Padding()))

    def test_padding_alone_leaves_the_other_sides_open(self):
        mask = padding_mask(Size(50, 50), 0.0, Padding(top=10, left=2))
        assert (mask[5:, 1:] == 1).all()
        assert (mask[:5] == 0).all()
        assert (mask[:, :1] == 0).all()
        assert padding_mask(SQUARE, 1.0, Padding()).min() > 1 - 1e-6

    @given(sides, sides, blurs, paddings, st.integers(0, 3), st.integers(0, 100))
    def test_more_padding_never_lets_more_through(self, width, height, blur, padding, side, more):
        larger = padding._replace(**{Padding._fields[side]: max(padding[side], more)})
        for drawn in (box_mask, padding_mask):
            mask, narrower = (drawn(Size(width, height), blur, one) for one in (padding, larger))
            assert mask.shape == (height, width)
            assert mask.min() >= 0
            assert mask.max() <= 1
            assert (narrower <= mask + 1e-6).all()

    def test_masks_that_are_kept_cannot_be_written(self):
        with pytest.raises(ValueError, match="read-only"):
            box_mask(SQUARE, 0.3, Padding())[0] = 1


class TestCurve:
    def test_is_the_upper_half_of_the_blurred_mask_stretched(self):
        mask = np.zeros((64, 80), np.float32)
        mask[20:50, 30:60] = 1
        offsets = np.arange(-20, 21)
        kernel = np.exp(-(offsets**2) / (2 * 5.0**2))
        kernel /= kernel.sum()
        padded = np.pad(mask.astype(np.float64), 20, mode="reflect")
        rows = np.apply_along_axis(np.convolve, 0, padded, kernel, "valid")
        blurred = np.apply_along_axis(np.convolve, 1, rows, kernel, "valid")
        expected = (np.clip(blurred, 0.5, 1) - 0.5) * 2
        np.testing.assert_allclose(soften_inward(mask), expected, atol=1e-5)

    @given(arrays(np.float32, (24, 24), elements=st.sampled_from((0.0, 0.25, 1.0))))
    def test_stays_within_0_and_1_and_within_what_was_marked_far_around(self, mask):
        softened = soften_inward(mask)
        assert softened.dtype == np.float32
        assert softened.min() >= 0
        assert softened.max() <= 1
        if mask.max() <= 0.5:
            assert softened.max() == 0

    def test_all_and_nothing_stay(self):
        assert soften_inward(np.ones((30, 30), np.float32)).min() > 1 - 1e-6
        assert (soften_inward(np.zeros((30, 30), np.float32)) == 0).all()


def outline(side=256.0):
    """68 points of a face as a face in an aligned crop has them, roughly."""
    points = np.zeros((68, 2), np.float32)
    turn = np.linspace(np.pi, 0, 17)
    points[:17] = np.stack((0.5 + 0.34 * np.cos(turn), 0.42 + 0.5 * np.sin(turn)), axis=1)
    points[17:27] = np.stack((np.linspace(0.22, 0.78, 10), 0.32 - 0.06 * np.sin(np.linspace(0, np.pi, 10))), axis=1)
    points[27:31] = np.stack((np.full(4, 0.5), np.linspace(0.4, 0.56, 4)), axis=1)
    points[31:36] = np.stack((np.linspace(0.43, 0.57, 5), np.full(5, 0.6)), axis=1)
    points[36:48, 1] = 0.4
    points[36:42, 0], points[42:48, 0] = np.linspace(0.3, 0.42, 6), np.linspace(0.58, 0.7, 6)
    turn = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    points[48:68] = np.stack((0.5 - 0.12 * np.cos(turn), 0.72 - 0.05 * np.sin(turn)), axis=1)
    points[54] = (0.62, 0.72)
    return points * np.float32(side)


def hull(points, names, side=256):
    """The hull of all points of the areas, as FaceFusion fills it."""
    mask = np.zeros((side, side), np.float32)
    indices = [index for name in names for index in AREAS[name]]
    cv2.fillConvexPoly(mask, cv2.convexHull(points[indices].astype(np.int32)), 1.0)
    return mask


class TestArea:
    def test_points_of_each_area(self):
        upper = (0, 1, 2, 31, 32, 33, 34, 35, 14, 15, 16, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17)
        lower = (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 35, 34, 33, 32, 31)
        assert dict(AREAS) == {"upper-face": upper, "lower-face": lower, "mouth": tuple(range(48, 68))}
        assert tuple(AREAS) == MASK_AREAS

    @pytest.mark.parametrize("name", MASK_AREAS)
    def test_an_area_is_the_hull_of_its_points_with_a_soft_edge_inside(self, name):
        points = outline()
        mask = area_mask(points, [name], SQUARE)
        np.testing.assert_array_equal(mask, soften_inward(hull(points, [name])))
        assert mask.max() > 0.9
        assert (mask[hull(points, [name]) == 0] <= 0.12).all()

    @pytest.mark.parametrize("names", [MASK_AREAS, MASK_AREAS[:2], MASK_AREAS[::-1]])
    def test_upper_and_lower_face_are_one_hull_without_a_gap(self, names):
        points = outline()
        np.testing.assert_array_equal(area_mask(points, names, SQUARE), soften_inward(hull(points, names)))

    def test_what_lies_between_two_areas_is_kept(self):
        points = outline()
        mask = area_mask(points, ("upper-face", "mouth"), SQUARE)
        apart = np.maximum(hull(points, ["upper-face"]), hull(points, ["mouth"]))
        np.testing.assert_array_equal(mask, soften_inward(apart))
        assert mask[165, 100] == 0  # beside the mouth, below the nose
        assert soften_inward(hull(points, ("upper-face", "mouth")))[165, 100] > 0.9999

    def test_points_outside_of_the_crop_are_cut_off(self):
        mask = area_mask(outline(1000.0) - 400, MASK_AREAS, Size(100, 60))
        assert mask.shape == (60, 100)
        assert mask.min() > 1 - 1e-6


class Shows:
    """An occluder and a parser that say of each pixel what its blue and its green level say."""

    def __init__(self):
        self.crops = []

    def uncovered(self, crops):
        self.crops += [crop.pixels for crop in crops]
        return [(crop.pixels[..., 0] > 127).astype(np.float32) for crop in crops]

    def regions(self, crops, names):
        self.crops += [crop.pixels for crop in crops]
        self.names = names
        return [(crop.pixels[..., 1] > 127).astype(np.float32) for crop in crops]


def masker(use=SWAP_MASKS, shows=None, **settings):
    shows = shows or Shows()
    return FaceMasker(FaceMaskerSettings(**settings), use, shows, shows)


def face_at(frame_to_crop=IDENTITY, side=256.0):
    """A face whose 68 points lie as :func:`outline` says in a crop of the frame."""
    points = transform_points(invert(frame_to_crop), outline(side))
    five = transform_points(invert(frame_to_crop), FACE_TEMPLATES[BOUND_TEMPLATE] * np.float32(side))
    return Face(box=np.zeros(4, np.float32), score=1.0, landmarks5=five, landmarks68=points)


def halves():
    """Blue on the left, green below."""
    crop = np.zeros((256, 256, 3), np.uint8)
    crop[:, :128, 0] = 255
    crop[128:, :, 1] = 255
    return crop


OF_TYPE = {
    BOX: lambda crop: box_mask(SQUARE, 0.3, Padding()),
    OCCLUSION: lambda crop: soften_inward((crop[..., 0] > 127).astype(np.float32)),
    AREA: lambda crop: soften_inward(hull(outline(), MASK_AREAS)),
    REGION: lambda crop: soften_inward((crop[..., 1] > 127).astype(np.float32)),
}
types_of_masks = st.sets(st.sampled_from(tuple(OF_TYPE)), min_size=1).map(lambda chosen: tuple(sorted(chosen)))


class TestMasker:
    @given(types_of_masks, arrays(np.uint8, (4, 4, 3)))
    def test_the_smallest_of_the_chosen_masks_counts(self, chosen, blocks):
        crop = blocks.repeat(64, axis=0).repeat(64, axis=1)
        made = masker(face_mask_types=chosen)
        before, after = made.before(cut(crop)), made.after(cut(crop, face_at()))
        ones = np.ones((256, 256), np.float32)
        np.testing.assert_array_equal(
            before, np.minimum.reduce([ones, *(OF_TYPE[name](crop) for name in chosen if name in (BOX, OCCLUSION))])
        )
        np.testing.assert_array_equal(
            after, np.minimum.reduce([ones, *(OF_TYPE[name](crop) for name in chosen if name in (AREA, REGION))])
        )
        for mask in (before, after):
            assert mask.dtype == np.float32
            assert 0 <= mask.min() <= mask.max() <= 1

    def test_several_crops_get_each_the_mask_that_it_gets_alone(self):
        shows = Shows()
        made = masker(shows=shows, face_mask_types=tuple(OF_TYPE))
        crops = [halves(), halves()[::-1].copy(), halves()[:100, :80]]
        faces = [face_at(), face_at(side=200), face_at(side=90)]
        before = made.before_each([cut(crop) for crop in crops])
        after = made.after_each([cut(*of) for of in zip(crops, faces, strict=True)])
        assert [id(one) for one in shows.crops] == [id(one) for one in crops] * 2
        for index, (crop, face) in enumerate(zip(crops, faces, strict=True)):
            np.testing.assert_array_equal(before[index], made.before(cut(crop)))
            np.testing.assert_array_equal(after[index], made.after(cut(crop, face)))
        assert made.before_each([]) == made.after_each([]) == []

    def test_no_network_runs_for_a_mask_that_nobody_chose(self):
        shows = Shows()
        made = masker(shows=shows, face_mask_types=("box", "area"))
        made.before(cut(halves()))
        made.after(cut(halves(), face_at()))
        assert made.bound(blank(256, 256), face_at()) is not None
        assert shows.crops == []

    def test_each_network_sees_the_crop_once_and_the_parser_the_regions(self):
        shows = Shows()
        made = masker(
            shows=shows,
            face_mask_types=("occlusion", "region"),
            face_mask_regions=("nose", "skin"),
            face_occluder_model="x",
        )
        first, second = halves(), halves()
        made.before(cut(first))
        made.after(cut(second, face_at()))
        assert [id(crop) for crop in shows.crops] == [id(first), id(second)]
        assert shows.names == {"nose", "skin"}

    @pytest.mark.parametrize(
        ("use", "chosen", "counted"),
        [
            (SWAP_MASKS, ("area", "region"), {AREA, REGION}),
            (SWAP_MASKS, ("box",), {BOX}),
            (SEAM_MASKS, ("area", "region"), {BOX}),
            (SEAM_MASKS, ("occlusion",), {BOX, OCCLUSION}),
            (NO_MASKS, tuple(OF_TYPE), set()),
            (MaskUse(always=frozenset((AREA,)), chosen=frozenset((OCCLUSION,))), ("box",), {AREA}),
        ],
    )
    def test_a_processor_says_which_count(self, use, chosen, counted):
        assert use.types(chosen) == counted

    @pytest.mark.parametrize(("use", "padding"), [(SWAP_MASKS, Padding(20, 20, 20, 20)), (SEAM_MASKS, Padding())])
    def test_a_processor_says_whether_padding_counts(self, use, padding):
        mask = masker(use, face_mask_padding=(20,), face_mask_blur=0.1).before(cut(halves()))
        np.testing.assert_array_equal(mask, box_mask(SQUARE, 0.1, padding))

    @given(types_of_masks, paddings, blurs, arrays(np.uint8, (4, 4, 3)))
    def test_nothing_is_let_through_beyond_the_padding(self, chosen, padding, blur, blocks):
        """Half of it at the line itself where the edge is soft, whatever else was chosen."""
        crop = blocks.repeat(32, axis=0).repeat(24, axis=1)
        height, width = crop.shape[:2]
        made = masker(face_mask_types=(*chosen, BOX), face_mask_padding=tuple(padding), face_mask_blur=blur)
        before, after = made.before(cut(crop)), made.after(cut(crop, face_at(side=96)))
        for mask in (before, after):
            assert mask.shape == (height, width)
            assert 0 <= mask.min() <= mask.max() <= 1
        assert (before <= box_mask(Size(width, height), blur, padding)).all()
        rows, columns = np.arange(height), np.arange(width)
        beyond_rows = (rows < int(height * padding.top / 100)) | (rows >= height - int(height * padding.bottom / 100))
        beyond_columns = (columns < int(width * padding.left / 100)) | (
            columns >= width - int(width * padding.right / 100)
        )
        beyond = before[beyond_rows[:, None] | beyond_columns]
        assert (beyond <= (0.5 + 1e-6 if int(width * 0.5 * blur) else 0)).all()

    @given(types_of_masks, types_of_masks, arrays(np.uint8, (4, 4, 3)))
    def test_another_mask_never_lets_more_through(self, chosen, others, blocks):
        crop = blocks.repeat(64, axis=0).repeat(64, axis=1)
        fewer = masker(face_mask_types=chosen)
        more = masker(face_mask_types=tuple(sorted({*chosen, *others})))
        assert (more.before(cut(crop)) <= fewer.before(cut(crop))).all()
        assert (more.after(cut(crop, face_at())) <= fewer.after(cut(crop, face_at()))).all()

    def test_a_processor_may_have_a_softness_of_its_own(self):
        made = masker(OUTLINE_MASKS, face_mask_blur=0.7, face_mask_padding=(20,))
        np.testing.assert_array_equal(made.before(cut(halves())), box_mask(SQUARE, 0.0, Padding(20, 20, 20, 20)))

    def test_a_processor_may_keep_to_areas_of_its_own(self):
        use = MaskUse(always=frozenset((AREA,)), areas=("lower-face",))
        mask = masker(use, face_mask_areas=("upper-face",)).after(cut(halves(), face_at()))
        np.testing.assert_array_equal(mask, area_mask(outline(), ["lower-face"], SQUARE))

    def test_the_areas_that_the_user_chose(self):
        mask = masker(face_mask_types=("area",), face_mask_areas=("mouth",)).after(cut(halves(), face_at()))
        np.testing.assert_array_equal(mask, area_mask(outline(), ["mouth"], SQUARE))

    def test_areas_follow_the_face_into_the_crop(self):
        to_crop = SquareRegion(300.0, 200.0, 500.0, 0.4).to_crop(256)
        mask = masker(face_mask_types=("area",)).after(cut(halves(), face_at(to_crop), to_crop))
        assert np.abs(mask - area_mask(outline(), MASK_AREAS, SQUARE)).mean() < 0.01

    def test_areas_of_a_face_that_has_a_mesh_only(self):
        mesh = np.zeros((478, 3), np.float32)
        mesh[SIXTY_EIGHT, :2] = outline()
        face = dataclasses.replace(face_at(), landmarks68=None, mesh=mesh)
        mask = masker(face_mask_types=("area",)).after(cut(halves(), face))
        np.testing.assert_array_equal(mask, area_mask(mesh[SIXTY_EIGHT, :2], MASK_AREAS, SQUARE))

    def test_areas_of_a_face_without_points_are_refused(self):
        face = dataclasses.replace(face_at(), landmarks68=None)
        with pytest.raises(FaceFusionError) as refused:
            masker(face_mask_types=("area",)).after(cut(halves(), face))
        assert str(refused.value) == (
            "the mask 'area' needs the 68 points of each face and got a face without. "
            "Leave 'area' out of --face-mask-types, or choose another --face-landmarker-model."
        )

    @pytest.mark.parametrize("kind", [OCCLUSION, REGION])
    def test_a_mask_without_its_network_is_a_mistake(self, kind):
        with pytest.raises(ValueError, match=f"the mask {kind} needs a network"):
            FaceMasker(FaceMaskerSettings(face_mask_types=(kind,)), SWAP_MASKS)

    def test_nobody_said_anything(self):
        np.testing.assert_array_equal(PLAIN.before(cut(halves())), box_mask(SQUARE, 0.3, Padding()))
        assert (PLAIN.after(cut(halves(), face_at())) == 1).all()


class TestBound:
    """What bounds a processor that draws the outline of the face by itself."""

    @pytest.mark.parametrize("blur", [0.0, 0.3, 1.0])
    def test_a_box_without_padding_is_none(self, blur):
        assert masker(face_mask_blur=blur).bound(blank(), face_at()) is None
        assert (
            masker(NO_MASKS, face_mask_types=tuple(OF_TYPE), face_mask_padding=(9,)).bound(blank(), face_at()) is None
        )

    def test_padding_counts_in_the_crop_of_the_default_swapper(self):
        to_crop = SquareRegion(300.0, 200.0, 500.0, 0.4).to_crop(BOUND_SIDE)
        bound = masker(face_mask_padding=(30, 0, 10), face_mask_blur=0.2).bound(blank(640, 480), face_at(to_crop))
        assert bound is not None
        np.testing.assert_array_equal(bound.mask, padding_mask(SQUARE, 0.2, Padding(30, 0, 10, 0)))
        face = face_at(to_crop)
        np.testing.assert_allclose(
            bound.frame_to_crop, fit_template(aligned(face), BOUND_TEMPLATE, BOUND_SIDE), atol=1e-6
        )

    def test_all_masks_are_measured_on_the_frame(self):
        bound = masker(face_mask_types=tuple(OF_TYPE), face_mask_padding=(10,)).bound(ArrayPicture(halves()), face_at())
        assert bound is not None
        seen = ArrayPicture(halves()).warp(bound.frame_to_crop, SQUARE)
        outlined = area_mask(transform_points(bound.frame_to_crop, outline()), MASK_AREAS, SQUARE)
        expected = np.minimum.reduce(
            [
                padding_mask(SQUARE, 0.3, Padding(10, 10, 10, 10)),
                outlined,
                OF_TYPE[OCCLUSION](seen),
                OF_TYPE[REGION](seen),
            ]
        )
        np.testing.assert_array_equal(bound.mask, expected)
        assert 0 < expected.mean() < 1

    def test_an_area_alone_needs_no_pixels(self):
        picture = blank(256, 256)
        assert masker(face_mask_types=("area",), face_mask_padding=(50,)).bound(picture, face_at()) is not None
        assert picture.warps == 0


def aligned(face):
    points = face.landmarks68
    eyes = points[36:42].mean(axis=0), points[42:48].mean(axis=0)
    return np.stack((*eyes, points[30], points[48], points[54])).astype(np.float32)


class TestPlaced:
    def test_in_its_own_crop_it_is_itself(self):
        mask = np.random.default_rng(0).random((20, 30)).astype(np.float32)
        to_crop = SquareRegion(50.0, 40.0, 33.0, 0.3).to_crop(20)
        np.testing.assert_allclose(PlacedMask(mask, to_crop).within(to_crop, Size(30, 20)), mask, atol=1e-6)

    def test_it_lies_where_it_lay_in_the_frame(self):
        mask = np.zeros((40, 40), np.float32)
        mask[10:20, 5:15] = 1
        shift = np.array(((1.0, 0.0, -7.0), (0.0, 1.0, -4.0)))
        double = compose(np.array(((2.0, 0.0, 0.5), (0.0, 2.0, 0.5))), shift)
        other = PlacedMask(mask, IDENTITY).within(double, Size(30, 40))
        expected = cv2.resize(mask[4:24, 7:22], (30, 40))
        np.testing.assert_allclose(other[2:-2, 2:-2], expected[2:-2, 2:-2], atol=1e-6)

    def test_outside_of_its_crop_it_is_as_its_border(self):
        mask = np.zeros((10, 10), np.float32)
        mask[:, 5:] = 1
        around = PlacedMask(mask, IDENTITY).within(np.array(((1.0, 0.0, 20.0), (0.0, 1.0, 20.0))), Size(50, 50))
        assert (around[:, :25] == 0).all()
        assert (around[:, 25:] == 1).all()


@pytest.mark.parametrize(
    ("given", "all_four"),
    [((5,), (5, 5, 5, 5)), ((5, 7), (5, 7, 5, 7)), ((5, 7, 9), (5, 7, 9, 7)), ((5, 7, 9, 11), (5, 7, 9, 11))],
)
def test_short_forms_of_face_mask_padding_are_those_of_css(given, all_four):
    assert FaceMaskerSettings(face_mask_padding=given).padding == all_four
