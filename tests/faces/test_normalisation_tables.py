"""Tests of what 8-bit pictures become for networks: by tables, to the very numbers of the formula."""

from __future__ import annotations

import numpy as np
import pytest

from facefusion.faces.landmark.upright import to_tensor
from facefusion.faces.normalisation import HALVES, IMAGENET, PLAIN, planes_by_table


@pytest.fixture
def pictures():
    return np.random.default_rng(5).integers(0, 256, (2, 6, 5, 3), np.uint8)


@pytest.mark.parametrize("normalisation", [PLAIN, HALVES, IMAGENET])
def test_levels_become_what_the_formula_says(normalisation, pictures):
    assert np.array_equal(normalisation.encode(pictures), normalisation.encode(pictures.astype(np.float32)))


def test_every_level_has_its_place_in_a_table():
    table = HALVES.tables()
    assert table.shape == (3, 256)
    assert (table[:, 0] == -1).all()
    assert (table[:, 255] == 1).all()


def test_landmarkers_get_blue_first(pictures):
    tensor = to_tensor(list(pictures))
    assert np.array_equal(tensor, pictures.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255))


def test_tables_belong_to_planes_of_the_result(pictures):
    tables = np.zeros((3, 256), np.float32)
    tables[0] = np.arange(256)
    assert np.array_equal(planes_by_table(pictures, tables, red_first=True)[:, 0], pictures[..., 2])
    assert np.array_equal(planes_by_table(pictures, tables, red_first=False)[:, 0], pictures[..., 0])
