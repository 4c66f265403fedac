from __future__ import annotations

from facefusion.config.render import allowed_text, help_text, ini_template, reference_page
from facefusion.config.schema import Schema
from tests.config.groups import SCHEMA, SampleDetector, SampleMisc


def test_help_says_what_for_what_and_what_otherwise():
    assert help_text(SCHEMA["face_detector_score"]) == "least score; number between 0 and 1 (default: 0.5)"
    assert help_text(SCHEMA["target_path"]) == "target"
    assert help_text(SCHEMA["halt_on_error"]) == "stop at once (default: off)"
    assert allowed_text(SCHEMA["face_selector_mode"]) == "one of many, one, reference"
    assert allowed_text(SCHEMA["face_detector_margin"]) == "1 to 4 whole numbers between 0 and 100"
    assert allowed_text(SCHEMA["execution_providers"]) == "any of cuda, cpu"


def test_ini_template():
    assert ini_template(Schema.of((SampleMisc,))) == (
        "# Settings of FaceFusion. An empty value means the default; the command line overrides what is set here.\n"
        "# Lists are separated by spaces; a value that contains one stands in quotes.\n"
        "\n"
        "[misc]\n"
        "# how much to say; one of error, warn, info, debug (default: info)\n"
        "log_level =\n"
        "# stop at once; true or false (default: false)\n"
        "halt_on_error =\n"
    )


def test_reference_page_has_a_row_per_option():
    page = reference_page(Schema.of((SampleDetector, SampleMisc)), ("run", "headless-run", "benchmark"))
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert rows == [
        "| `--face-detector-score` | number between 0 and 1 | `0.5` | all | least score |",
        "| `--face-detector-margin` | 1 to 4 whole numbers between 0 and 100 | `0` | all | margin |",
        "| `--face-detector-angles` | any of 0, 90, 180, 270 | `0` | all | angles |",
        "| `--log-level` | one of error, warn, info, debug | `info` | all | how much to say |",
        "| `--halt-on-error` | true or false | off | all | stop at once |",
    ]
