from __future__ import annotations

from pathlib import Path

import pytest

from facefusion.config.ini import parse_ini
from facefusion.config.origin import Origin, Source
from facefusion.config.render import ini_of, ini_template
from facefusion.config.sources import from_entries, merge
from facefusion.config.state import StateManager
from facefusion.core.errors import OptionError, UsageError
from tests.config.groups import SCHEMA, SampleDetector, SampleExecution, SampleMisc, SamplePaths, SampleSelector


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def merged(ini="", arguments=None, environment=None):
    if ini:
        Path("facefusion.ini").write_text(ini, encoding="utf-8")
    return merge(SCHEMA, arguments or {}, environment or {})


def failure(*args, **more):
    with pytest.raises((OptionError, UsageError)) as caught:
        merged(*args, **more)
    return str(caught.value)


def test_without_any_source_the_defaults_hold():
    snapshot = merged().snapshot
    assert snapshot.get(SampleDetector) == SampleDetector()
    assert snapshot.origin("face_detector_score") == Origin(Source.DEFAULT)
    assert not snapshot.origin("face_detector_score").given


def test_each_source_overrides_the_one_before():
    ini = "[face_detector]\nface_detector_score = 0.1\nface_detector_margin = 1\n[misc]\nlog_level = warn\n"
    environment = {"FACEFUSION_FACE_DETECTOR_SCORE": "0.2", "FACEFUSION_FACE_DETECTOR_MARGIN": "2 3"}
    snapshot = merged(ini, {"face_detector_score": ("0.3",)}, environment).snapshot
    assert snapshot.get(SampleDetector).face_detector_score == 0.3
    assert snapshot.get(SampleDetector).face_detector_margin == (2, 3)
    assert snapshot.get(SampleMisc).log_level == "warn"
    assert str(snapshot.origin("face_detector_score")) == "from command line"
    assert str(snapshot.origin("face_detector_margin")) == "from the environment"
    assert str(snapshot.origin("log_level")) == "from facefusion.ini:5"


def test_empty_values_are_no_values():
    ini = "[face_detector]\nface_detector_score =\nface_detector_margin =   \n"
    snapshot = merged(ini, environment={"FACEFUSION_LOG_LEVEL": " "}).snapshot
    assert snapshot.get(SampleDetector) == SampleDetector()
    assert snapshot.get(SampleMisc) == SampleMisc()


def test_names_and_values_of_older_releases_are_understood():
    ini = "[execution]\nexecution_device_id = 1\n[logging]\nlog_level = INFO\n"
    snapshot = merged(ini).snapshot
    assert snapshot.get(SampleExecution).execution_device_ids == (1,)
    assert snapshot.get(SampleMisc).log_level == "info"


def test_a_wrong_value_names_its_place():
    assert failure("[face_detector]\n\nface_detector_score = 1.5\n") == (
        "[face_detector] face_detector_score = 1.5: must be between 0 and 1 (from facefusion.ini:3)."
    )


def test_a_wrong_value_of_the_environment_names_its_variable():
    assert failure(environment={"FACEFUSION_FACE_DETECTOR_SCORE": "x"}) == (
        "FACEFUSION_FACE_DETECTOR_SCORE=x: must be a number (from the environment)."
    )


def test_the_command_line_mends_a_wrong_value_in_the_ini_file():
    snapshot = merged("[face_detector]\nface_detector_score = 9\n", {"face_detector_score": ("0.4",)}).snapshot
    assert snapshot.get(SampleDetector).face_detector_score == 0.4


@pytest.mark.parametrize(
    ("ini", "message"),
    [
        (
            "[face_detektor]\nface_detector_score = 1\n",
            "facefusion.ini:2: there is no section [face_detektor]. face_detector_score belongs in section "
            "[face_detector].",
        ),
        (
            "[face_detektor]\nx = 1\n",
            "facefusion.ini:2: there is no section [face_detektor]. Did you mean [face_detector]?",
        ),
        (
            "[face_detector]\nface_detector_scor = 1\n",
            "facefusion.ini:2: [face_detector] has no key face_detector_scor. Did you mean face_detector_score?",
        ),
        (
            "[misc]\nhalt_on_error = 1\nlog_level = warn\n[logging]\nlog_level = info\n",
            "[logging] log_level = info: sets what [misc] log_level = warn sets already (from facefusion.ini:5). "
            "Keep one of the two.",
        ),
    ],
)
def test_unknown_and_doubled_names_are_errors(ini, message):
    assert failure(ini) == message


def test_a_misspelt_environment_variable_is_doubted_and_others_are_left_alone():
    result = merged(environment={"FACEFUSION_LOG_LEVLE": "debug", "FACEFUSION_HOME": "/x"})
    assert result.warnings == (
        "environment variable FACEFUSION_LOG_LEVLE is no option; did you mean FACEFUSION_LOG_LEVEL?",
    )


def test_the_ini_file_asked_for_must_be_there(tmp_path):
    other = tmp_path / "my settings.ini"
    other.write_text("[misc]\nlog_level = error\n", encoding="utf-8")
    arguments = {"config_path": (str(other),)}
    assert merged("[misc]\nlog_level = warn\n", arguments).snapshot.get(SampleMisc).log_level == "error"
    assert failure(arguments={"config_path": ("none.ini",)}).startswith(
        "--config-path none.ini: there is no such file (from command line)."
    )


def test_paths_with_spaces_and_percent_signs():
    ini = "[paths]\nsource_paths = \"a b.jpg\" c%%d.jpg 'e f.jpg'\ntarget_path = x y 50%.mp4\n"
    paths = merged(ini).snapshot.get(SamplePaths)
    assert [str(path) for path in paths.source_paths] == ["a b.jpg", "c%d.jpg", "e f.jpg"]
    assert str(paths.target_path) == "x y 50%.mp4"


def test_the_template_changes_nothing_and_names_every_key():
    entries = parse_ini(ini_template(SCHEMA), "t.ini")
    assert {(entry.section, entry.key) for entry in entries} == {
        (spec.section, spec.name) for spec in SCHEMA if spec.about.in_ini
    }
    assert from_entries(SCHEMA, entries) == ({}, ())


def test_the_settings_in_force_can_be_written_and_read_back():
    before = merged(arguments={"source_paths": ('a "b" c.jpg', "100%.jpg"), "trim_frame_end": ("7",)}).snapshot
    after = merged(ini_of(before)).snapshot
    assert all(after.value(spec) == before.value(spec) for spec in SCHEMA)


def test_a_change_makes_a_new_snapshot_and_leaves_the_old():
    state = StateManager(merged().snapshot)
    before = state.snapshot
    after = state.change({"face_selector_mode": "many", "execution_device_id": (2,)})
    assert state.snapshot is after
    assert before.get(SampleSelector).face_selector_mode == "reference"
    assert after.get(SampleSelector).face_selector_mode == "many"
    assert after.get(SampleExecution).execution_device_ids == (2,)
    assert after.origin("face_selector_mode") == Origin(Source.PROGRAM)


def test_a_change_is_checked():
    state = StateManager(merged().snapshot)
    with pytest.raises(OptionError, match="must be one of many, one, reference"):
        state.change({"face_selector_mode": "some"})
    with pytest.raises(OptionError, match="there is no option named 'colour'"):
        state.change({"colour": 1})
    assert state.snapshot.get(SampleSelector).face_selector_mode == "reference"


@pytest.mark.parametrize(
    ("word", "shown"), [("", '--trim-frame-end ""'), ("a b", '--trim-frame-end "a b"'), ("x", "--trim-frame-end x")]
)
def test_a_message_shows_a_word_of_the_command_line_with_its_ends(word, shown):
    assert failure(arguments={"trim_frame_end": (word,)}) == f"{shown}: must be a whole number (from command line)."


def test_a_number_of_thousands_of_digits_is_refused_in_a_short_line():
    text = failure(arguments={"reference_face_position": ("9" * 5000,)})
    assert text == (
        f"--reference-face-position {'9' * 174}... (5026 characters): must have no more than 18 digits (from "
        "command line)."
    )


def test_an_ini_file_may_be_anything_that_can_be_read(tmp_path):
    assert merged(arguments={"config_path": ("/dev/null",)}).warnings == ()
    assert failure(arguments={"config_path": (str(tmp_path),)}).startswith(f"--config-path {tmp_path}: it is a folder")
    assert "File name too long" in failure(arguments={"config_path": ("x" * 300,)})


def test_a_value_of_several_lines_is_shown_as_it_is_read(tmp_path):
    first = merged("[paths]\ntarget_path = a\n  [misc]\n  b = 1\n").snapshot
    again = merged(ini_of(first)).snapshot
    assert again.get(SamplePaths) == first.get(SamplePaths)
    assert str(first.get(SamplePaths).target_path) == "a\n[misc]\nb = 1"


def test_a_value_of_a_great_many_lines_takes_no_longer_for_each():
    entries = parse_ini("[paths]\ntarget_path = a\n" + "  y\n" * 200_000, "t.ini")
    assert len(entries[0].value) == 400_001
