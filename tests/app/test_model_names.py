from __future__ import annotations

import pytest

from facefusion.app import model_names
from facefusion.app.model_names import model_choices_of, with_model_names
from facefusion.catalogue.catalogue import Catalogue
from facefusion.catalogue.store import Choice, ModelStore
from facefusion.cli.application import load_application
from facefusion.cli.main import program_schema
from facefusion.config.state import Snapshot
from facefusion.core.errors import ModelError
from facefusion.observability.recorder import Recorder


@pytest.fixture
def bare_machine(tmp_path, monkeypatch):
    """No model file lies anywhere."""
    monkeypatch.setattr(model_names, "model_folders", lambda models_path: (tmp_path,))


def named(events=None, **values):
    snapshot = Snapshot(program_schema(load_application()), {}, {}).with_values(values)
    made = with_model_names(snapshot, events or Recorder())
    return {spec.name: made.value(spec) for spec in made.schema if spec.name.endswith("_model")}


@pytest.mark.usefixtures("bare_machine")
def test_without_any_file_the_embedded_models_are_meant_and_what_is_better_is_told():
    recorder = Recorder()
    names = named(recorder, processors=("face_swapper",))
    assert (names["face_swapper_model"], names["face_detector_model"], names["face_landmarker_model"]) == (
        "mesh",
        "yunet",
        "face_mesh",
    )
    best = Catalogue.load().preferred("face_swapper")[0].name
    assert (best != "mesh") == any("Preferred, but not on this machine: " in notice for notice in recorder.notices)


@pytest.mark.usefixtures("bare_machine")
def test_only_models_of_the_processors_asked_for_get_a_name():
    names = named(processors=("frame_enhancer",))
    assert names["frame_enhancer_model"] != "auto"
    assert (names["face_swapper_model"], names["face_enhancer_model"]) == ("auto", "auto")


@pytest.mark.usefixtures("bare_machine")
def test_a_name_that_was_chosen_stays():
    assert named(face_detector_model="yunet", processors=("face_swapper",))["face_detector_model"] == "yunet"


@pytest.mark.parametrize(
    ("types", "kinds"),
    [
        (("box", "area"), set()),
        (("occlusion",), {"face_occluder"}),
        (("box", "region", "occlusion"), {"face_occluder", "face_parser"}),
    ],
)
def test_only_masks_that_were_chosen_need_a_model(types, kinds):
    snapshot = Snapshot(program_schema(load_application()), {}, {}).with_values({"face_mask_types": types})
    assert model_choices_of(snapshot).keys() & {"face_occluder", "face_parser"} == kinds


class _EmptyStore(ModelStore):
    def resolve(self, kind: str, choice: str) -> Choice:
        raise ModelError(f"None of the models for {kind} is at hand")


def test_where_no_model_can_be_had_it_stays_open(monkeypatch):
    monkeypatch.setattr(model_names, "ModelStore", _EmptyStore)
    assert named(face_detector_model="auto")["face_detector_model"] == "auto"
