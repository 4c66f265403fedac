"""Masks with what pip alone brings, and with what users bring, in whole steps."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from facefusion.core.errors import UsageError
from tests.app.conftest import Still, put
from tests.toys import masks
from tests.toys.enhancers import restorer

GREEN = {"processors": ("face_enhancer",), "source_paths": (), "face_selector_mode": "many", "face_enhancer_blend": 100}
HANDS = {"palm_detection", "hand_landmarks"}


def green(models: Path) -> None:
    """An enhancer that paints faces green, in the place of the one that is taken by itself."""
    put(models, "gfpgan_1.4", restorer(512, gain=(0, 0, 0), offset=(-1, 1, -1)))


def painted(after: np.ndarray) -> np.ndarray:
    return (after == (0, 255, 0)).all(axis=2)


def test_without_a_network_of_the_user_s_the_face_is_what_its_mesh_shows(still: Still, models: Path) -> None:
    green(models)
    box = painted(still.after(**GREEN))
    report = still.report(**GREEN, face_mask_types=("occlusion",))
    assert report.models.keys() >= HANDS
    face = painted(still.result)
    # The crop of an enhancer shows hair, ears and neck too, which are no part of the face.
    around = cv2.dilate(box.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    assert not (face & ~around).any()
    assert 0.3 * box.sum() < face.sum() < 0.8 * box.sum()
    middle = np.argwhere(box).mean(axis=0).astype(int)
    assert face[tuple(middle)]


def test_the_network_that_facefusion_would_take_is_taken_where_it_is_here(still: Still, models: Path) -> None:
    green(models)
    put(models, "xseg_1", masks.occluder())
    report = still.report(**GREEN, face_mask_types=("box", "occlusion"))
    assert report.models["xseg_1"] == "cpu"
    assert not report.models.keys() & HANDS
    named = still.report(**GREEN, face_mask_types=("box", "occlusion"), face_occluder_model="mesh")
    assert named.models.keys() >= HANDS
    assert "xseg_1" not in named.models


def test_regions_of_the_mesh_bound_a_swap(still: Still) -> None:
    """The embedded swapper on the embedded parser: no file but those that pip brings."""
    whole, nose = (
        (still.after(**values) != still.before).any(axis=2)
        for values in ({}, {"face_mask_types": ("region",), "face_mask_regions": ("nose",)})
    )
    assert nose.any()
    assert not (nose & ~whole).any()
    assert nose.sum() < 0.25 * whole.sum()
    (top, left), (bottom, right) = np.argwhere(nose).min(axis=0), np.argwhere(nose).max(axis=0)
    assert bottom - top > right - left


def test_regions_that_the_mesh_never_finds_are_refused_where_no_other_is_asked_for(still: Still) -> None:
    with pytest.raises(UsageError) as refused:
        still.report(face_mask_types=("region",), face_mask_regions=("glasses",))
    assert str(refused.value) == (
        "face_mask_regions = glasses: the face parser mesh finds none of these, so nothing would be changed. "
        "Name others too, or another --face-parser-model."
    )


def test_the_debugger_draws_what_they_let_through(still: Still) -> None:
    values = {"processors": ("face_debugger",), "source_paths": (), "face_debugger_items": ("face-mask",)}
    box, face = (
        (still.after(**values, face_selector_mode="many", face_mask_types=types) == (0, 255, 0)).all(axis=2)
        for types in (("box",), ("box", "occlusion"))
    )
    assert 0 < face.sum() < box.sum()
    outer, inner = np.argwhere(box), np.argwhere(face)
    assert (outer.min(axis=0) <= inner.min(axis=0) + 1).all()
    assert (inner.max(axis=0) <= outer.max(axis=0) + 1).all()
