"""The ini file that the project set out with, as it was printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from facefusion.config.request import checked_output
from facefusion.config.settings import MiscSettings, PathsSettings
from facefusion.config.sources import merge
from facefusion.inference.settings import ExecutionSettings
from facefusion.memory.settings import MemorySettings
from tests.contract.surfaces import SCHEMA

TEMPLATE = """\
[execution]
execution_providers = tensorrt
execution_device_id = 0
execution_thread_count = 8
execution_queue_count = 4

[memory]
system_memory_limit = 16
video_memory_strategy = conservative

[paths]
temp_path = /mnt/ssd/temp
output_path = /mnt/nas/output
models_path = /app/models

[logging]
log_level = INFO
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_line_of_it_is_obeyed():
    Path("facefusion.ini").write_text(TEMPLATE, encoding="utf-8")
    result = merge(SCHEMA, {}, {})
    assert result.warnings == ()
    execution = result.snapshot.get(ExecutionSettings)
    assert execution == ExecutionSettings(
        execution_providers=("tensorrt",),
        execution_device_ids=(0,),
        execution_thread_count=8,
        execution_queue_count=4,
    )
    memory = result.snapshot.get(MemorySettings)
    assert (memory.system_memory_limit, memory.video_memory_strategy) == (16, "conservative")
    paths = result.snapshot.get(PathsSettings)
    assert (paths.temp_path, paths.output_path, paths.models_path) == (
        Path("/mnt/ssd/temp"),
        Path("/mnt/nas/output"),
        Path("/app/models"),
    )
    assert result.snapshot.get(MiscSettings).log_level == "info"
    assert str(result.snapshot.origin("execution_device_ids")) == "from facefusion.ini:3"


@pytest.mark.parametrize(
    ("written", "level"),
    [
        ("INFO", "info"),
        ("Warning", "warn"),
        ("WARN", "warn"),
        ("ERROR", "error"),
        ("CRITICAL", "error"),
        ("debug", "debug"),
    ],
)
def test_levels_go_by_their_usual_names_in_any_case(written, level):
    Path("facefusion.ini").write_text(f"[logging]\nlog_level = {written}\n", encoding="utf-8")
    assert merge(SCHEMA, {}, {}).snapshot.get(MiscSettings).log_level == level


def test_a_folder_for_results_gets_a_file_of_the_targets_name(folder):
    (folder / "output").mkdir()
    Path("clip.mp4").write_bytes(b"x")
    Path("facefusion.ini").write_text("[paths]\noutput_path = output\n", encoding="utf-8")
    paths = merge(SCHEMA, {"target_path": ("clip.mp4",)}, {}).snapshot.get(PathsSettings)
    assert checked_output(paths) == Path("output/clip.mp4")
