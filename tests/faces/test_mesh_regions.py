"""The regions of a face as its mesh has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facefusion.core.errors import FaceFusionError
from facefusion.core.values import Size
from facefusion.faces.bench import Bench
from facefusion.faces.mask.base import FaceCrop
from facefusion.faces.mask.families import build_parser
from facefusion.faces.mask.regions import MeshParser
from facefusion.faces.settings import MASK_REGIONS
from facefusion.faces.surface import topology
from facefusion.faces.surface.atlas import DETAIL, raster
from facefusion.faces.surface.regions import MOUTH, region_maps
from facefusion.vision.geometry import SquareRegion, transform_points
from facefusion.vision.picture import BgrPicture
from tests.toys import heads
from tests.toys import masks as toys

PLACED = heads.mesh(centre=(160, 120), radius=60, yaw=15)
TO_CROP = SquareRegion(160, 120, 180, 0.1).to_crop(256)
WITHIN = {
    "skin": (50, 187),
    "left-eyebrow": (105, 52),
    "right-eyebrow": (334, 282),
    "left-eye": (159, 145),
    "right-eye": (386, 374),
    "nose": (4, 5),
    "upper-lip": (0, 13),
    "lower-lip": (14, 17),
}
"""Two vertices between which lies a region and nothing else."""


def crop_of(placed=PLACED, texture=None):
    picture = BgrPicture(heads.paint(placed, heads.skin() if texture is None else texture))
    return FaceCrop(picture.warp(TO_CROP, Size(256, 256)), heads.face(placed), TO_CROP, picture)


def regions(*names, crop=None):
    return MeshParser().regions([crop or crop_of()], frozenset(names))[0]


def place(vertices, placed=PLACED):
    """The pixel of the crop half way between two vertices: row, column."""
    middle = placed[list(vertices), :2].mean(axis=0).astype(np.float64)
    x, y = np.rint(transform_points(TO_CROP, middle[None])[0]).astype(int)
    return y, x


class TestMaps:
    def test_each_texel_belongs_to_one_region(self):
        maps = region_maps()
        total = np.add.reduce(list(maps.values()))
        assert set(np.unique(total)) == {0, 1}
        np.testing.assert_array_equal(total > 0, (raster(DETAIL).inside() > 0) & (total > 0))
        # What lies on no triangle is the mouth, and between lips that meet there is next to nothing.
        assert ((raster(DETAIL).inside() > 0) & (total == 0)).sum() == 0

    def test_all_regions_that_users_know_but_mouth_and_glasses(self):
        assert {*region_maps(), MOUTH, "glasses"} == set(MASK_REGIONS)

    @pytest.mark.parametrize("part", ["eye", "eyebrow"])
    def test_left_is_the_mirror_image_of_right(self, part):
        left, right = (region_maps()[f"{side}-{part}"] for side in ("left", "right"))
        assert np.abs(left - right[:, ::-1]).sum() < 0.1 * left.sum()
        assert np.nonzero(left)[1].max() < DETAIL / 2

    def test_they_are_shared_and_cannot_be_written(self):
        with pytest.raises(ValueError, match="read-only"):
            region_maps()["skin"][0, 0] = 1


class TestParser:
    @pytest.mark.parametrize("name", WITHIN)
    def test_a_region_is_shown_where_the_mesh_has_it_and_no_other_is(self, name):
        mask = regions(name)
        assert (mask.shape, mask.dtype) == ((256, 256), np.float32)
        assert set(np.unique(mask)) == {0, 1}
        for other, vertices in WITHIN.items():
            assert mask[place(vertices)] == (other == name)

    def test_several_regions_are_joined(self):
        names = ("nose", "skin", "left-eye")
        np.testing.assert_array_equal(
            regions(*names), np.maximum.reduce([regions(name) for name in names]).astype(np.float32)
        )

    def test_of_no_region_nothing_is_shown(self):
        assert not regions().any()
        assert not regions("glasses").any()

    def test_the_mouth_is_what_lies_between_the_lips(self):
        placed = heads.mesh(centre=(160, 120), radius=60, open_mouth=0.02)
        mask = regions(MOUTH, crop=crop_of(placed))
        assert mask[place((13, 14), placed)] == 1
        assert mask[place((0, 13), placed)] == mask[place(WITHIN["nose"], placed)] == 0
        assert regions("skin", crop=crop_of(placed))[place((13, 14), placed)] == 0

    def test_hair_is_no_skin(self):
        texture = heads.skin()
        texture[:68] = (30, 35, 45)
        assert regions("skin")[place((151, 9))] == 1
        assert regions("skin", crop=crop_of(texture=texture))[place((151, 10))] == 0

    def test_it_lies_where_the_face_was_in_the_picture_whatever_the_crop_shows_now(self):
        crop = crop_of()
        np.testing.assert_array_equal(
            regions("skin", crop=crop.showing(np.zeros_like(crop.pixels))), regions("skin", crop=crop)
        )

    @settings(max_examples=15)
    @given(st.sets(st.sampled_from(MASK_REGIONS)), st.floats(-50, 50), st.floats(-180, 180))
    def test_more_regions_never_show_less(self, names, yaw, roll):
        crop = crop_of(heads.mesh(centre=(160, 120), radius=60, yaw=yaw, roll=roll))
        assert (regions(*names, crop=crop) <= regions(*MASK_REGIONS, crop=crop)).all()

    def test_a_face_without_a_mesh_is_refused(self):
        crop = crop_of()
        with pytest.raises(FaceFusionError) as refused:
            regions("skin", crop=replace(crop, face=replace(crop.face, mesh=None)))
        assert str(refused.value) == (
            "the parser 'mesh' needs the face mesh of each face and got a face without. "
            "Choose another --face-parser-model, or leave 'region' out of --face-mask-types."
        )

    def test_it_is_built_without_a_graph(self):
        card = replace(toys.card("mesh", "mesh", "face_parser"), file=None)
        parser = build_parser(card, Bench(lambda _: pytest.fail("a graph was asked for")))
        np.testing.assert_array_equal(parser.regions([crop_of()], frozenset(("nose",)))[0], regions("nose"))


def test_lips_meet_at_the_corners_of_the_mouth():
    maps = region_maps()
    corners = np.rint(topology.texture_coordinates()[[61, 291]] * DETAIL - 0.5).astype(int)
    for x, y in corners:
        near = np.s_[y - 3 : y + 4, x - 3 : x + 4]
        assert maps["upper-lip"][near].any()
        assert maps["lower-lip"][near].any()
