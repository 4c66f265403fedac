"""No client is told of folders of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from facefusion.cli.application import load_application
from facefusion.cli.main import program_schema
from facefusion.config.state import Snapshot
from facefusion.core.errors import ModelError
from facefusion.service.discretion import PLACE, folders_of, without_paths
from facefusion.service.endings import fault_of
from facefusion.service.rendering import JobFiles


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("put their files into /srv/models of ours/.", f"put their files into {PLACE}/."),
        ("/srv/models of ours/mesh/a.onnx: is damaged.", f"{PLACE}: is damaged."),
        ("/srv/models of ours 2/a.onnx", f"{PLACE} 2/a.onnx"),
        ("'/models' (C:\\models\\a.onnx)", f"'{PLACE}' ({PLACE})"),
        ("/my disk/storage/assets/0f/x.mp4 and /my disk/storage.", f"{PLACE} and {PLACE}."),
        ("a source, the target, the result", "a source, the target, the result"),
        ("5/68 of image/png and/or 1 / 2 at https://host/page", "5/68 of image/png and/or 1 / 2 at https://host/page"),
    ],
)
def test_no_path_of_the_machine_is_told(text, told):
    storage = Path("/my disk/storage")
    files = JobFiles(
        (storage / "assets/1/s.jpg",),
        storage / "assets/2/t.mp4",
        storage / "segments/3",
        storage / "segments/3/joined.mp4",
        private=(Path("/srv/models of ours"),),
    )
    assert files.without_paths(text) == told


def test_files_of_a_job_are_told_by_what_they_are():
    files = JobFiles(
        (Path("/my disk/s.jpg"),), Path("/my disk/t.mp4"), Path("/my disk/seg"), Path("/my disk/seg/o.mp4")
    )
    text = "/my disk/seg/o.mp4 of /my disk/t.mp4 with /my disk/s.jpg in /my disk/seg"
    assert files.without_paths(text) == "the result of the target with a source in the segments"


def test_a_folder_within_another_goes_whole():
    text = "/my disk/a b/c d/e.mp4"
    assert without_paths(text, {}, (Path("/my disk"), Path("/my disk/a b/c d"), Path("/my disk/a b"))) == PLACE


def test_folders_that_the_settings_name_are_known():
    schema = program_schema(load_application())
    temp, models, storage = Path("/mnt/fast disk/temp"), Path("/mnt/our models"), Path("/nas x/s")
    values = {"temp_path": temp, "models_path": models, "storage_path": storage}
    known = folders_of(Snapshot(schema, {}, {}).with_values(values))
    assert {temp, temp.parent, models, storage, storage.parent} <= set(known)
    error = ModelError("/mnt/our models/mesh.onnx is damaged", "Put it into /mnt/our models, or free /nas x.")
    fault = fault_of(error, None, "service", known)
    assert (fault.fault, fault.remedy) == (f"{PLACE} is damaged", f"Put it into {PLACE}, or free {PLACE}.")
