"""Swappers that users bring, in whole steps: by name, by ``auto``, and out of the folder of a person's own models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from facefusion.core.errors import UsageError
from tests.app.conftest import Still, put
from tests.processors.face_swapper.toy_shop import BIAS, CONVERSION, WEIGHTS
from tests.toys.deep_faces import deep_face
from tests.toys.swappers import colour_swapper, identity_converter, recogniser

NOTHING_BUT_GREY = (0, 0, 0)


@pytest.fixture
def swapping(models: Path) -> Path:
    """A folder with a recogniser in it, and a swapper that paints faces grey."""
    put(models, "arcface_w600k_r50", recogniser(WEIGHTS, BIAS))
    put(models, "hyperswap_1a_256", colour_swapper((512,), 256, gain=NOTHING_BUT_GREY, mask=True))
    return models


@pytest.mark.usefixtures("swapping")
@pytest.mark.parametrize("name", ["auto", "hyperswap_1a_256"])
def test_a_swapper_on_disk_is_used_as_it_lies(still: Still, name: str) -> None:
    report = still.report(face_swapper_model=name)
    assert (report.faces, report.models["hyperswap_1a_256"]) == (1, "cpu")
    grey = (still.result == 128).all(axis=2)
    changed = (still.result != still.before).any(axis=2)
    # The middle of the face is all grey, its soft edge is not, and most of the picture is as it was.
    assert 0.01 < grey.mean() < changed.mean() < 0.3


def test_a_converter_that_a_swapper_runs_beside_it_comes_along(still: Still, swapping: Path) -> None:
    put(swapping, "simswap_unofficial_512", colour_swapper((512,), 512))
    put(swapping, "crossface_simswap", identity_converter(CONVERSION))
    report = still.report(face_swapper_model="simswap_unofficial_512", face_swapper_weight=0.8)
    assert report.models["simswap_unofficial_512"] == "cpu"
    assert report.models["crossface_simswap"] == "cpu"
    assert "may not be used commercially" in " ".join(report.notices)


@pytest.mark.usefixtures("swapping")
def test_pixel_boost_is_heeded(still: Still) -> None:
    with pytest.raises(UsageError, match="hyperswap_1a_256 cannot work at 384x384, which is no multiple"):
        still.report(face_swapper_model="auto", face_swapper_pixel_boost="384x384")
    assert still.report(face_swapper_model="auto", face_swapper_pixel_boost="512x512").faces == 1


def test_a_model_of_one_s_own_needs_neither_source_nor_checksum(still: Still, models: Path) -> None:
    (models / "custom").mkdir()
    onnx.save(deep_face(96, colour=(0.0, 1.0, 0.0)), models / "custom" / "green face.dfm")
    values = {
        "processors": ("deep_swapper",),
        "source_paths": (),
        "deep_swapper_model": "custom/green face",
        "face_selector_mode": "many",
    }
    report = still.report(**values)
    assert (report.faces, report.models["custom/green face"]) == (1, "cpu")
    changed = still.result.astype(int) - still.before
    assert changed[..., 1].max() > 40
    kept = still.after(**values, deep_swapper_morph=0).astype(int) - still.before
    assert np.abs(kept).mean() < 0.3 * np.abs(changed).mean()
