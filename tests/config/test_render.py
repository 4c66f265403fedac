from __future__ import annotations

from facefusion.config.option import option, settings_group
from facefusion.config.origin import Origin, Source
from facefusion.config.render import allowed_text, help_text, ini_of, ini_template, reference_page
from facefusion.config.schema import Schema
from facefusion.config.state import Snapshot
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


def test_the_reference_page_says_which_options_no_ini_file_holds():
    @settings_group(section="misc")
    class Named:
        level: str = option("info", "how much to say")
        config_path: str = option("x.ini", "which ini file", in_ini=False)

    assert "\nThese are no keys: `--config-path`.\n" in reference_page(Schema.of((Named,)), ("run",))


def test_what_is_not_there_yet_is_told_apart_from_what_is():
    @settings_group(section="processors")
    class Named:
        processors: tuple[str, ...] = option(("swap",), "what to do", choices=("swap", "blur"), awaited=("age",))
        swap_model: str = option("a", "model", choices=("a", "b"), awaited=lambda: ("b",))
        swap_mask: bool = option(False, "mask", pending="there is no mask")

    @settings_group(section="processors", awaited=True)
    class Awaited:
        age_model: str = option("auto", "model", choices=("auto", "x"))

    schema = Schema.of((Named, Awaited))
    assert [help_text(spec) for spec in schema] == [
        "what to do; any of swap, blur (not in this version yet: age) (default: swap)",
        "model; one of a (not in this version yet: b) (default: a)",
        "mask; no effect yet (default: off)",
        "model; one of auto, x; no effect yet (default: auto)",
    ]
    assert "# mask; true or false; no effect yet (default: false)\nswap_mask =\n" in ini_template(schema)


def test_the_name_of_an_ini_file_stays_within_its_comment():
    origin = Origin(Source.INI, "a\nb.ini")
    snapshot = Snapshot(SCHEMA, {}, {}).with_values({"face_detector_score": 0.25}, origin)
    lines = ini_of(snapshot).splitlines()
    at = lines.index("face_detector_score = 0.25")
    assert lines[at - 1] == r"# from a\nb.ini"
