"""What the help of a command says, and how it is set."""

from __future__ import annotations

import re

import pytest

from facefusion.cli.application import load_application
from facefusion.cli.command import COMMANDS, find_command
from facefusion.cli.main import program_schema
from facefusion.cli.parser import command_parser
from facefusion.config.render import allowed_text, default_text


@pytest.fixture(scope="module")
def schema():
    return program_schema(load_application())


@pytest.fixture(params=["60", "80", "120"])
def width(request, monkeypatch):
    monkeypatch.setenv("COLUMNS", request.param)
    return int(request.param)


def help_of(name, schema):
    command = find_command(name)
    assert command is not None
    return command_parser(command, schema.of_command(name)).format_help()


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_option_says_what_it_is_for_what_it_takes_and_its_default(name, schema, width):
    text = help_of(name, schema)
    flat = " ".join(text.split())
    for spec in schema.of_command(name):
        assert f" {spec.flag} " in flat
        assert spec.about.help in flat
        if not spec.type.is_flag:
            assert allowed_text(spec) in flat
        if spec.default not in (None, ()):
            assert f"(default: {default_text(spec)})" in flat
    # A word longer than the column stands alone.
    assert all(len(line) <= width - 2 or " " not in line.strip() for line in text.splitlines()[1:])


@pytest.mark.parametrize("name", ["run", "job-insert-step"])
def test_no_word_is_broken_at_its_hyphens(name, schema, width):
    assert re.search(r"\w-$", help_of(name, schema), re.MULTILINE) is None


def test_an_option_has_its_short_and_its_present_name(schema):
    text = help_of("run", schema)
    assert "\n  -s, --source-paths FILE [FILE ...]\n" in text
    assert "\n  --execution-device-ids N [N ...]\n" in text
    assert "--execution-device-id " not in text


def test_hundreds_of_choices_are_cut(schema):
    assert "span_kendata_x4, swin2_sr_x4, ... (19 in all)" in " ".join(help_of("run", schema).split())
    assert all(len(allowed_text(spec)) < 400 for spec in schema)
