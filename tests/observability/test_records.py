"""The forms in which a record is shown or kept."""

from __future__ import annotations

import json
import logging
import os

import pytest

from facefusion.observability.records import JsonFormatter, StampedFormatter, TextFormatter, spoken_record

MOMENT = 1_796_033_136.1234
"""2026-11-30 10:05:36.1234 UTC."""


def at_the_moment(record):
    record.created = MOMENT
    return record


def logged(text, *arguments, level=logging.WARNING):
    return at_the_moment(logging.LogRecord("facefusion.media.reader", level, "", 0, text, arguments, None))


def failure():
    try:
        raise ValueError("torn")
    except ValueError as error:
        return error


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (spoken_record("Model: mesh."), "Model: mesh."),
        (spoken_record("careful", "warn"), "warning: careful"),
        (spoken_record("broken", "error"), "error: broken"),
        (spoken_record("Stopped.", "error", marked=False), "Stopped."),
        (logged("torn at %d", 7), "[FACEFUSION.READER] torn at 7"),
    ],
)
def test_text_is_for_people(record, text):
    assert TextFormatter().format(record) == text


def test_text_ends_with_what_to_read_and_begins_with_the_traceback():
    lines = TextFormatter().format(spoken_record("broken", "error", failure=failure())).splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-2:] == ["ValueError: torn", "error: broken"]


def test_a_log_file_has_time_process_level_and_module_in_front_of_each_line():
    stamp = f"2026-11-30T10:05:36.123Z {os.getpid()}"
    record = at_the_moment(spoken_record(["frames  10", "faces   3"], module="run"))
    assert StampedFormatter().format(record) == f"{stamp} info  run: frames  10\n{stamp} info  run: faces   3"
    assert StampedFormatter().format(logged("torn at %d", 7)) == f"{stamp} warn  media.reader: torn at 7"
    broken = at_the_moment(spoken_record("broken", "error", failure=failure()))
    lines = StampedFormatter().format(broken).splitlines()
    assert lines[0] == f"{stamp} error cli: Traceback (most recent call last):"
    assert lines[-1] == f"{stamp} error cli: broken"


def test_json_is_one_line_with_the_fields_of_what_happened():
    record = at_the_moment(
        spoken_record("frame 7\nof ö\udcff", "warn", module="run", fields={"frame": 7, "rate": None})
    )
    text = JsonFormatter().format(record)
    assert "\n" not in text
    assert text.isascii()
    assert json.loads(text) == {
        "time": "2026-11-30T10:05:36.123Z",
        "level": "warn",
        "module": "run",
        "process": os.getpid(),
        "message": "frame 7\nof ö\udcff",
        "frame": 7,
        "rate": None,
    }


def test_json_of_a_failure_has_its_traceback():
    document = json.loads(JsonFormatter().format(spoken_record("broken", "error", failure=failure())))
    assert document["message"] == "broken"
    assert document["traceback"].endswith("ValueError: torn")


HOSTILE = "a\x1b[2J\nb\tc\u2028d\u202egpj"
HARMLESS = r"a\x1b[2J\nb\tc\u2028d\u202egpj"


def test_what_a_name_holds_does_nothing_to_a_terminal_and_stays_on_its_line():
    assert TextFormatter().format(spoken_record(HOSTILE, "error")) == f"error: {HARMLESS}"
    assert TextFormatter().format(spoken_record([HOSTILE, "two"])) == f"{HARMLESS}\ntwo"
    assert StampedFormatter().format(spoken_record([HOSTILE, "two"])).endswith("cli: two")
    (line, _) = StampedFormatter().format(spoken_record([HOSTILE, "two"])).splitlines()
    assert line.endswith(f"cli: {HARMLESS}")
    assert TextFormatter().format(logged("a\x1b[2J\nb")) == "[FACEFUSION.READER] a\\x1b[2J\nb"


def test_nor_does_a_traceback():
    broken = spoken_record("broken", failure=ValueError(HOSTILE))
    assert TextFormatter().format(broken).splitlines() == [r"ValueError: a\x1b[2J", r"b\tc", r"d\u202egpj", "broken"]


def test_json_has_what_a_name_holds():
    assert json.loads(JsonFormatter().format(spoken_record([HOSTILE, "two"])))["message"] == f"{HOSTILE}\ntwo"


@pytest.mark.parametrize(("number", "level"), [(50, "error"), (40, "error"), (30, "warn"), (25, "info"), (5, "debug")])
def test_levels_are_those_of_the_option(number, level):
    assert json.loads(JsonFormatter().format(logged("text", level=number)))["level"] == level
