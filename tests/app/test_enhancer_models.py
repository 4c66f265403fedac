"""Face enhancers and landmarkers that users bring, in whole steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.app.conftest import Run, Still, put
from tests.toys import landmarkers
from tests.toys.enhancers import restorer

ENHANCE = {"processors": ("face_enhancer",), "source_paths": (), "face_selector_mode": "many"}
LIKE_A_FACE = np.tile((0.0, 0, 1, 0, 0), (68, 1)) + np.linspace(-1, 1, 68)[:, None] * (-1.0, 1, 0, 0, 0)
"""An estimate whose points lie on a line through the nose, along the eyes."""


def green(side: int = 512, weight: tuple[int, tuple[int, ...]] | None = None) -> onnx.ModelProto:
    return restorer(side, gain=(0, 0, 0), offset=(-1, 1, -1), weight=weight)


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        ("gfpgan_1.4", green()),
        ("gpen_bfr_256", green(256)),
        ("codeformer", green(weight=(onnx.TensorProto.DOUBLE, (1,)))),
    ],
)
def test_an_enhancer_on_disk_draws_the_face_and_nothing_else(
    still: Still, models: Path, name: str, graph: onnx.ModelProto
) -> None:
    put(models, name, graph)
    values = {**ENHANCE, "face_enhancer_model": name, "face_enhancer_blend": 100, "face_enhancer_weight": 1.0}
    report, after = still.report(**values), still.result
    assert (report.faces, report.models[name]) == (1, "cpu")
    drawn = (after == (0, 255, 0)).all(axis=2)
    untouched = (after == still.before).all(axis=2)
    assert 0.01 < drawn.mean() < 0.3 and untouched.mean() > 0.6
    ys, xs = np.nonzero(drawn)
    assert np.ptp(ys) == pytest.approx(np.ptp(xs), rel=0.2)


def test_the_enhancer_that_facefusion_would_take_is_taken_where_it_is_here(still: Still, models: Path) -> None:
    put(models, "gfpgan_1.4", green())
    assert still.report(**ENHANCE).models["gfpgan_1.4"] == "cpu"


def test_a_landmarker_lays_out_the_faces_that_are_worked_on(
    still: Still, models: Path, run: Run, tmp_path: Path
) -> None:
    put(models, "gfpgan_1.4", green())
    put(models, "fan_68_5", landmarkers.estimator(LIKE_A_FACE))
    put(models, "2dfan4", landmarkers.fan(peak=0.2))
    plain = still.after(**ENHANCE)
    unsure = still.after(**ENHANCE, face_landmarker_model="2dfan4")
    np.testing.assert_array_equal(unsure, plain)
    put(models, "2dfan4", landmarkers.fan(peak=0.9))
    report = still.report(**ENHANCE, face_landmarker_model="2dfan4")
    assert {name: report.models.get(name) for name in ("face_mesh", "2dfan4", "fan_68_5")} == dict.fromkeys(
        ("face_mesh", "2dfan4", "fan_68_5"), "cpu"
    )
    assert (still.result != plain).any()
    values = {**ENHANCE, "models_path": models, "face_landmarker_model": "2dfan4", "trim_frame_end": 3}
    assert run(tmp_path / "out.mp4", **values).faces == 3


def test_of_many_landmarkers_each_is_run(still: Still, models: Path) -> None:
    put(models, "fan_68_5", landmarkers.estimator(LIKE_A_FACE))
    put(models, "2dfan4", landmarkers.fan())
    put(models, "peppa_wutz", landmarkers.peppa_wutz())
    report = still.report(**ENHANCE, face_landmarker_model="many")
    assert {"2dfan4", "peppa_wutz", "fan_68_5", "face_mesh"} <= report.models.keys()


def test_a_landmarker_score_of_0_asks_for_none(still: Still, models: Path) -> None:
    put(models, "fan_68_5", landmarkers.estimator(LIKE_A_FACE))
    put(models, "2dfan4", landmarkers.fan())
    values = {**ENHANCE, "face_landmarker_score": 0.0}
    with_it = still.after(**values, face_landmarker_model="2dfan4")
    np.testing.assert_array_equal(with_it, still.after(**values, face_landmarker_model="face_mesh"))
