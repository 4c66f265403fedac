from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facefusion.config.origin import COMMAND_LINE
from facefusion.config.values import RawValue, check, format_value, join_words, parse, split_words, words_of
from facefusion.core.errors import OptionError
from tests.config.groups import SCHEMA

PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")) | st.sampled_from(" \t'\""), min_size=1)


def read(name, *words):
    spec = SCHEMA[name]
    return parse(spec, RawValue(words, f"{spec.flag} {' '.join(words)}", COMMAND_LINE))


def refusal(name, *words):
    with pytest.raises(OptionError) as caught:
        read(name, *words)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "words", "value"),
    [
        ("face_detector_score", ("0.33",), 0.33),
        ("face_detector_score", ("1",), 1.0),
        ("reference_face_position", ("-2",), -2),
        ("face_detector_margin", ("1", "2"), (1, 2)),
        ("face_detector_angles", ("0", "270"), (0, 270)),
        ("source_paths", ("a b.jpg", "c.jpg"), (Path("a b.jpg"), Path("c.jpg"))),
        ("face_selector_mode", ("MANY",), "many"),
        ("log_level", ("WARNING",), "warn"),
        ("halt_on_error", ("Yes",), True),
        ("halt_on_error", ("off",), False),
    ],
)
def test_words_become_values(name, words, value):
    assert read(name, *words) == value
    assert type(read(name, *words)) is type(value)


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        (
            "face_detector_score",
            ("1.5",),
            "--face-detector-score 1.5: must be between 0 and 1 (from command line).",
        ),
        ("face_detector_score", ("nan",), "--face-detector-score nan: must be a finite number (from command line)."),
        ("face_detector_score", ("half",), "--face-detector-score half: must be a number (from command line)."),
        (
            "reference_face_position",
            ("1.0",),
            "--reference-face-position 1.0: must be a whole number (from command line).",
        ),
        ("trim_frame_end", ("-1",), "--trim-frame-end -1: must be at least 0 (from command line)."),
        (
            "face_detector_margin",
            ("1", "200"),
            "--face-detector-margin 1 200: 200 must be between 0 and 100 (from command line).",
        ),
        (
            "face_detector_margin",
            ("1", "2", "3", "4", "5"),
            "--face-detector-margin 1 2 3 4 5: takes 1 to 4 values, not 5 (from command line).",
        ),
        (
            "face_detector_angles",
            ("45",),
            "--face-detector-angles 45: 45 must be one of 0, 90, 180, 270 (from command line).",
        ),
        (
            "face_selector_mode",
            ("mnay",),
            "--face-selector-mode mnay: must be one of many, one, reference (from command line). Did you mean many?",
        ),
        ("target_path", ("",), "--target-path : must not be empty (from command line)."),
        (
            "target_path",
            ("a\ud800b",),
            "--target-path a\ud800b: holds what no file's name can hold (from command line).",
        ),
        ("target_path", ("a\0b",), "--target-path a\0b: must not hold a null character (from command line)."),
        (
            "halt_on_error",
            ("maybe",),
            "--halt-on-error maybe: must be one of 1, yes, true, on, 0, no, false, off (from command line).",
        ),
    ],
)
def test_a_value_that_is_not_allowed_says_what_is(name, words, message):
    assert refusal(name, *words) == message


def test_quotes_group_only_whole_words():
    assert split_words("\"a b.jpg\" it's.jpg 'c d'.jpg 'e f'") == ("a b.jpg", "it's.jpg", "'c", "d'.jpg", "e f")


@given(st.lists(PRINTABLE))
def test_words_survive_joining(words):
    assert split_words(join_words(words)) == tuple(words)


@given(st.data())
def test_every_value_survives_its_text(data):
    strategies = {
        "source_paths": st.lists(PRINTABLE.map(Path)).map(tuple),
        "target_path": st.none() | PRINTABLE.filter(lambda text: text == text.strip()).map(Path),
        "face_detector_score": st.floats(0, 1),
        "face_detector_margin": st.lists(st.integers(0, 100), min_size=1, max_size=4).map(tuple),
        "face_selector_mode": st.sampled_from(("many", "one", "reference")),
        "reference_face_position": st.integers(-(10**18) + 1, 10**18 - 1),
        "trim_frame_end": st.none() | st.integers(0, 10**18 - 1),
        "halt_on_error": st.booleans(),
    }
    name = data.draw(st.sampled_from(sorted(strategies)))
    value = data.draw(strategies[name])
    spec = SCHEMA[name]
    text = format_value(spec, value)
    assert check(spec, value, COMMAND_LINE) == value
    if text:
        assert parse(spec, RawValue(words_of(spec, text), text, COMMAND_LINE)) == value
