"""Models that users bring for finding, recognising and classifying faces, in whole steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from facefusion.core.errors import ModelError, UsageError
from facefusion.faces.detect.search import FaceSearch
from facefusion.faces.detect.yunet import YuNet
from facefusion.inference.providers.cpu import CPU, CpuOptions
from facefusion.inference.session import LoadRequest, ModelFile, OrtSession
from facefusion.vision.picture import BgrPicture
from tests.app.conftest import Run, Still, put
from tests.faces.stage import card
from tests.toys import detectors, faces

MALE_20_TO_29 = (0, 0, 3)
"""Class numbers of group, gender and age."""


@pytest.mark.parametrize(
    ("filters", "meant"),
    [
        ({"face_selector_gender": "male"}, True),
        ({"face_selector_gender": "female"}, False),
        ({"face_selector_gender": "auto", "face_selector_race": "auto"}, True),
        ({"face_selector_race": "asian"}, False),
        ({"face_selector_age_start": 29}, True),
        ({"face_selector_age_start": 30}, False),
        ({"face_selector_age_end": 21}, True),
        ({"face_selector_age_end": 20}, False),
    ],
)
def test_only_those_meant_are_changed(still: Still, models: Path, filters: dict[str, object], *, meant: bool) -> None:
    put(models, "fairface", faces.fairface(MALE_20_TO_29))
    after = still.after(face_selector_mode="many", **filters)
    assert (after != still.before).any() == meant


def test_a_video_is_filtered_as_an_image_is(run: Run, tmp_path: Path, models: Path) -> None:
    put(models, "fairface", faces.fairface(MALE_20_TO_29))

    def changed(gender: str) -> int:
        values = {"face_selector_mode": "many", "face_selector_gender": gender, "models_path": models}
        return run(tmp_path / "out.mp4", trim_frame_end=5, **values).faces

    assert (changed("male"), changed("female")) == (5, 0)


def test_the_reference_is_one_of_those_meant(still: Still, models: Path) -> None:
    put(models, "fairface", faces.fairface(MALE_20_TO_29))
    assert still.report(face_selector_gender="male").faces == 1
    assert still.report(face_selector_gender="female").faces == 0


def test_the_classifier_is_run_for_filters_only(still: Still, models: Path) -> None:
    put(models, "fairface", faces.fairface(MALE_20_TO_29))
    assert "fairface" not in still.report().models
    assert still.report(face_selector_mode="many", face_selector_age_end=40).models["fairface"] == "cpu"


def test_auto_needs_a_source(still: Still) -> None:
    with pytest.raises(UsageError) as refused:
        still.report(processors=("face_debugger",), source_paths=(), face_selector_gender="auto")
    assert str(refused.value) == (
        "face_selector_gender = auto needs a source face. Name one image or more with --source-paths."
    )


def test_ages_between_which_nobody_is_are_refused_before_anything_is_fetched(still: Still) -> None:
    with pytest.raises(UsageError, match="face_selector_age_start = 40 and face_selector_age_end = 20: no age lies"):
        still.report(face_selector_age_start=40, face_selector_age_end=20)


def test_a_detector_on_disk_finds_the_face_that_is_there(
    still: Still, models: Path, model_path: Callable[[str], Path]
) -> None:
    file = ModelFile("yunet", model_path("yunet"))
    yunet = YuNet(card("yunet"), OrtSession(LoadRequest(file, ((CPU, CpuOptions()),))))
    found = FaceSearch(yunet).find(BgrPicture(still.before))
    (left, top, right, bottom), points = found.boxes[0], found.points[0]
    row = [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top, found.scores[0]]
    row += [float(value) for x, y in points for value in (x, y, 0.9)]
    put(models, "yoloface_8n", detectors.yolo_table([[float(value) for value in row]], 640))
    # It finds the same in the source, which is therefore the same picture.
    with_yunet = still.after(source_paths=(still.path,), face_detector_model="yunet").astype(int)
    values = {"source_paths": (still.path,), "face_detector_model": "yolo_face"}
    report = still.report(**values)
    assert (report.faces, report.models["yolo_face"]) == (1, "cpu")
    # Half of the sum of two floats is not quite the float it came from.
    assert np.abs(still.result - with_yunet).max() <= 2
    assert (with_yunet != still.before).any()


def test_a_recogniser_on_disk_is_taken_by_itself(still: Still, models: Path) -> None:
    put(models, "arcface_w600k_r50", faces.arcface())
    report = still.report()
    assert (report.faces, report.models["arcface_w600k_r50"]) == (1, "cpu")


def test_a_graph_of_another_family_is_refused(still: Still, models: Path) -> None:
    put(models, "scrfd_2.5g", faces.arcface())
    with pytest.raises(ModelError, match=r"scrfd: the graph does not fit its family: expected .*, found "):
        still.report(face_detector_model="scrfd")
