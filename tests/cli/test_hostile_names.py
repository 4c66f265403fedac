"""Names that no file can have, or that mean to break a line, in every option and argument that takes one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from facefusion.cli.application import load_application
from facefusion.cli.command import COMMANDS, JOB
from facefusion.cli.main import main, program_schema
from tests.cli.fakes import FakeApplication


class Program(FakeApplication):
    """Has the real program's options, and does nothing."""

    def settings_groups(self):
        return load_application().settings_groups()

    def option_choices(self):
        return load_application().option_choices()

    def awaited_choices(self):
        return load_application().awaited_choices()


SCHEMA = program_schema(Program())
NAMES = ("x" * 300, "file/below", "loop/a.jpg", "a\x1b[31m\nb.jpg")
TAKES = [
    (command, spec)
    for command in COMMANDS
    if command.name not in ("benchmark", "doctor", "serve")  # which measure, look at the machine, and do not come back
    for spec in SCHEMA.of_command(command.name)
    if spec.type.scalar is Path or spec.name.endswith("_pattern")
]
FILES = {"target_path": "target.jpg", "output_path": "result.jpg", "target_pattern": "target.jpg"}
FILES |= {"output_pattern": "{index}.jpg"}
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("target.jpg", "file"):
        Path(name).write_bytes(b"x")
    Path("loop").symlink_to("loop")


def words_of(command, spec, name):
    """A command line that is whole but for the name."""
    specs = SCHEMA.of_command(command.name)
    given = {one.flag: FILES[one.name] for one in specs if one.name in FILES} | {spec.flag: name}
    return [command.name, *positionals(command), *(f"{flag}={value}" for flag, value in given.items())]


def positionals(command):
    return [one.choices[0] if one.choices else "0" if one.is_number else "one" for one in command.positionals]


def said(words, capsys):
    code = main(words, Program())
    captured = capsys.readouterr()
    errors = [line for line in captured.err.splitlines() if line.startswith("error:")]
    assert "defect" not in captured.err
    assert CONTROL.search(captured.err) is None
    assert len(captured.err) < 20_000
    assert code in (0, 1, 2)
    assert len(errors) <= 2
    return code


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
@pytest.mark.parametrize(("command", "spec"), TAKES, ids=lambda one: one.name)
def test_a_name_in_an_option_makes_no_defect_and_breaks_no_line(command, spec, name, capsys):
    said(words_of(command, spec, name), capsys)


@pytest.mark.parametrize("name", [*NAMES, "\udcff\x9b"], ids=range(len(NAMES) + 1))
@pytest.mark.parametrize("command", [command for command in COMMANDS if JOB in command.positionals], ids=str)
def test_so_does_the_name_of_a_job(command, name, capsys):
    said(["job-create", name], capsys)
    words = [name if word == "one" else word for word in positionals(command)]
    said([command.name, *words], capsys)
    said(["job-list", "drafted"], capsys)


@pytest.mark.parametrize("words", [("x" * 10**5,), ("run", "--" + "x" * 10**5), ("run", "x" * 10**5)])
def test_a_word_that_is_none_is_named_in_few_words(words, capsys):
    assert main(words, Program()) == 2
    assert len(capsys.readouterr().err) < 1000


@pytest.mark.parametrize("word", ["x" * 10**5, "1" * 10**5 + "x"])
def test_a_number_or_a_choice_that_is_none_is_named_in_few_words(word, capsys):
    for words in (("job-list", word), ("job-remove-step", "one", word)):
        assert main(words, Program()) == 2
        assert len(capsys.readouterr().err) < 1000
