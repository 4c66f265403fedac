from __future__ import annotations

import shutil
from collections import namedtuple

import pytest

from facefusion.app.model_names import model_choices_of
from facefusion.catalogue.catalogue import Catalogue
from facefusion.doctor.finding import Level
from facefusion.doctor.models import model_findings
from tests.doctor.machines import settings

NEEDED = {"face_detector": "auto", "content_analyser": "auto", "face_swapper": "auto"}
Usage = namedtuple("Usage", "total used free")


def told(folder, choices):
    return [(one.level, one.text) for one in model_findings(Catalogue.load(), (folder,), choices)]


def test_models_that_are_missing_are_no_fault_and_named_with_what_they_take(tmp_path):
    found = list(model_findings(Catalogue.load(), (tmp_path / "models",), NEEDED))
    assert {one.level for one in found} == {Level.NOTE, Level.OK}
    yunet = next(one for one in found if one.text.startswith("yunet"))
    assert yunet.text == "yunet is not here; it is fetched when it is first needed (10 MB)"
    assert yunet.remedy == "To have it before: facefusion.py force-download yunet"
    assert found[-1].text == "a run with these settings uses yunet, open_nsfw, mesh"


def test_a_file_that_is_not_what_it_is_called_is_a_warning(tmp_path):
    (tmp_path / "yunet_2023mar.onnx").write_bytes(b"something else")
    doubts = [text for level, text in told(tmp_path, NEEDED) if level is Level.WARNING]
    assert doubts == [f"{tmp_path / 'yunet_2023mar.onnx'} is not used: yunet_2023mar.onnx.json does not lie beside it"]


def test_models_that_cannot_be_fetched_for_want_of_space_are_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(2000, 0, 2000))
    level, text = told(tmp_path, NEEDED)[-1]
    assert level is Level.FAULT
    assert text.startswith("yunet, open_nsfw cannot be fetched: that takes ")
    assert text.endswith(f"and {tmp_path} has 2.0 kB free")


def test_models_that_cannot_be_written_are_a_fault_only_where_they_are_missing(tmp_path):
    file = tmp_path / "models"
    file.write_text("")
    assert told(file, NEEDED)[-1] == (
        Level.FAULT,
        f"yunet, open_nsfw cannot be fetched: {file} cannot be written: a part of the path is no folder",
    )
    assert told(file, {"face_swapper": "mesh"})[-1] == (Level.OK, "a run with these settings uses mesh")


def test_a_name_of_another_kind_is_a_fault(tmp_path):
    found = told(tmp_path, {"face_detector": "mesh"})
    assert (Level.FAULT, "The model 'mesh' is a face_swapper, no face_detector") in found


def test_a_kind_of_which_there_are_no_models_yet_is_passed_over(tmp_path):
    assert told(tmp_path, {"no_such_kind": "auto"})[-1] == (Level.OK, "a run with these settings uses none")


def test_the_models_of_the_processors_asked_for_are_meant():
    names = set(model_choices_of(settings(processors=("face_enhancer", "frame_enhancer"))))
    assert {"content_analyser", "face_detector", "face_enhancer", "frame_enhancer"} <= names
    assert "face_swapper" not in names


def test_a_model_behind_a_mask_is_meant_where_the_mask_is_chosen():
    assert "face_occluder" not in model_choices_of(settings(face_mask_types=("box",)))
    names = model_choices_of(settings(face_mask_types=("occlusion", "region")))
    assert {"face_occluder": "auto", "face_parser": "auto"}.items() <= names.items()


def test_of_a_model_whose_size_nobody_knows_none_is_told(tmp_path):
    found = told(tmp_path / "models", {"face_occluder": "xseg_2"})
    assert (Level.NOTE, "xseg_2 is not here; it is fetched when it is first needed") in found


@pytest.mark.usefixtures("embedded_models")
def test_models_that_are_here_are_verified(embedded_models):
    path = embedded_models.find(embedded_models.catalogue.card("yunet"))
    assert path is not None
    assert (Level.OK, f"yunet: {path}, 139 kB, verified") in told(path.parent, NEEDED)
