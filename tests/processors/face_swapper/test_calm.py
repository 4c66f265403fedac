"""Blotches go; what is usual, what has a twin on the other side, and features stay."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from facefusion.faces.surface import atlas
from facefusion.processors.face_swapper.families.mesh.calm import calm

SIZE = 512
CHEEK = (0.30, 0.60)
OTHER_CHEEK = (0.70, 0.60)
FOREHEAD = (0.5, 0.27)


def skin() -> np.ndarray:
    """Skin with soft shading, even on both sides, of about one unit in L and half a unit in colour."""
    random = np.random.default_rng(3)
    coarse = random.normal(size=(SIZE, SIZE, 3)).astype(np.float32)
    soft = cv2.GaussianBlur(coarse, (0, 0), 12)
    soft = soft + soft[:, ::-1]
    return (soft / soft.std() * np.array((1.2, 0.6, 0.6))).astype(np.float32)


def spot(place: tuple[float, float], strength: tuple[float, float, float], sigma: float = 14) -> np.ndarray:
    y, x = np.mgrid[:SIZE, :SIZE]
    blob = np.exp(-((x - place[0] * SIZE) ** 2 + (y - place[1] * SIZE) ** 2) / (2 * sigma**2))
    return (blob[..., None] * np.array(strength)).astype(np.float32)


def at(detail: np.ndarray, place: tuple[float, float]) -> np.ndarray:
    return np.asarray(detail[round(place[1] * SIZE), round(place[0] * SIZE)])


@pytest.mark.parametrize("strength", [(-18.0, 4.0, 4.0), (14.0, -3.0, 6.0)])
@pytest.mark.parametrize(("place", "twin"), [(CHEEK, OTHER_CHEEK), (OTHER_CHEEK, CHEEK)])
def test_a_blotch_on_one_cheek_fades(place, twin, strength) -> None:
    before = skin()
    after = calm(before + spot(place, strength))
    assert abs(at(after, place)[0] - at(before, place)[0]) < 0.6 * abs(strength[0])
    assert abs(at(after, twin)[0] - at(before, twin)[0]) < 0.25 * abs(strength[0])


def test_a_hair_across_the_cheek_fades() -> None:
    before = skin()
    strand = before.copy()
    strand[300:330, 150:153] -= np.float32(25)
    left = (calm(strand) - calm(before))[305:325, 151, 0]
    assert np.abs(left).max() < 0.6 * 25


def test_shading_on_both_cheeks_is_shape_and_mostly_stays() -> None:
    before = skin()
    pair = spot(CHEEK, (-5, 0, 0)) + spot(OTHER_CHEEK, (-5, 0, 0))
    left = at(calm(before + pair), CHEEK) - at(before, CHEEK)
    assert left[0] < -3


def test_usual_skin_is_left_as_it_is() -> None:
    before = skin()
    changed = np.abs(calm(before) - before).max(axis=2)
    assert np.mean(changed < 0.05) > 0.9


def test_brows_and_lips_are_left_alone() -> None:
    before = skin()
    parts = atlas.masks(SIZE)
    features = np.maximum(parts.brows, parts.creases) > 0.95
    dark = before - 30 * features[..., None].astype(np.float32)
    after = calm(dark)
    inside = cv2.erode(features.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0
    np.testing.assert_allclose(after[inside], dark[inside], atol=1e-3)


def test_a_fair_strand_on_a_brow_is_dimmed_with_its_colour() -> None:
    before = skin()
    y, x = np.nonzero(atlas.masks(SIZE).brows > 0.99)
    place = (float(x[0]) / SIZE, float(y[0]) / SIZE)
    after = at(calm(before + spot(place, (30, 0, 20), 6)), place)
    assert after[0] < 8
    assert after[2] < 8


def test_a_mirrored_face_is_calmed_into_the_mirror_image() -> None:
    blotched = skin() + spot(CHEEK, (-18, 4, 4)) + spot(FOREHEAD, (9, 0, 0))
    mirrored = calm(np.ascontiguousarray(blotched[:, ::-1]))
    np.testing.assert_allclose(mirrored[:, ::-1], calm(blotched), atol=0.25)
