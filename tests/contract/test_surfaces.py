"""Every option means the same on every surface, and refuses the same."""

from __future__ import annotations

import json

import pytest

from facefusion.cli.command import COMMANDS
from facefusion.config.frozen import freeze, thaw
from facefusion.config.option import EVERY_COMMAND, Scope
from facefusion.config.origin import DEFAULT, PROGRAM
from facefusion.config.render import ini_template
from facefusion.config.sources import merge
from facefusion.core.errors import OptionError
from tests.contract.surfaces import PLACE, SCHEMA, bad_values, command_line, good_values, name_on, surfaces

SPECS = {spec.name: spec for spec in SCHEMA if spec.name != "config_path"}
"""All options but the one that says which ini file to read; a file has to be there for it: see tests/config."""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", SPECS)
def test_every_surface_gives_the_same_settings(name):
    spec = SPECS[name]
    for words, value in good_values(spec):
        for surface, send in surfaces(spec).items():
            snapshot = send(spec, words)
            assert snapshot.value(spec) == value, surface
            assert getattr(snapshot.get(spec.group), name) == value
            assert snapshot.origin(name).given
            assert all(snapshot.origin(other) == DEFAULT for other in SPECS if other != name)


@pytest.mark.parametrize("name", SPECS)
def test_every_surface_refuses_what_is_not_allowed_and_names_option_value_and_range(name):
    spec = SPECS[name]
    for words, problem in bad_values(spec):
        for surface, send in surfaces(spec).items():
            if spec.type.is_flag and surface == "command line":
                continue  # a switch takes no value there
            with pytest.raises(OptionError) as refused:
                send(spec, words)
            message = str(refused.value)
            assert message.startswith(name_on(surface, spec)), message
            assert " ".join(words) in message
            assert problem in message


def test_what_every_command_takes_is_taken_by_every_command():
    assert sorted(EVERY_COMMAND) == sorted(command.name for command in COMMANDS)


@pytest.mark.parametrize("name", SPECS)
def test_every_command_of_an_option_takes_it_and_its_short_form(name):
    spec = SPECS[name]
    words = next(good_values(spec))[0]
    given = (spec.flag,) if spec.type.is_flag else (spec.flag, *words)
    for command in spec.commands:
        assert command in EVERY_COMMAND
        snapshot = command_line(command, *given)
        assert snapshot.origin(name).given
        if spec.about.short:
            assert command_line(command, spec.about.short, *words).value(spec) == snapshot.value(spec)


@pytest.mark.parametrize("name", [name for name, spec in SPECS.items() if spec.about.scope is Scope.STEP])
def test_a_job_file_keeps_every_value_of_a_step(name):
    spec = SPECS[name]
    for words, value in good_values(spec):
        before = surfaces(spec)["environment"](spec, words)
        thawed = thaw(SCHEMA, json.loads(json.dumps(freeze(before))), PLACE)
        again = merge(SCHEMA, {}, {}).snapshot.with_values(thawed.values, thawed.origin)
        assert again.value(spec) == value
        assert freeze(again) == freeze(before)


def test_a_job_file_holds_what_belongs_to_a_step_and_nothing_else():
    keys = set(freeze(merge(SCHEMA, {}, {}).snapshot))
    assert keys == {name for name, spec in SPECS.items() if spec.about.scope is Scope.STEP}
    with pytest.raises(OptionError, match="job demo, step 0: log_level is no setting of a step"):
        thaw(SCHEMA, {"log_level": "info"}, PLACE)
    with pytest.raises(OptionError, match=r"there is no setting face_swaper_model\. Did you mean face_swapper_model\?"):
        thaw(SCHEMA, {"face_swaper_model": "mesh"}, PLACE)


@pytest.mark.parametrize("name", SPECS)
def test_a_value_that_the_program_sets_is_checked_too(name):
    spec = SPECS[name]
    snapshot = merge(SCHEMA, {}, {}).snapshot
    for _, value in good_values(spec):
        assert snapshot.with_values({name: value}).value(spec) == value
        assert snapshot.with_values({name: value}).origin(name) == PROGRAM


def test_the_command_line_wins_over_the_environment_and_that_over_the_ini_file(tmp_path):
    (tmp_path / "facefusion.ini").write_text("[face_detector]\nface_detector_score = 0.1\n", encoding="utf-8")
    variable = {"FACEFUSION_FACE_DETECTOR_SCORE": "0.2"}
    flag = {"face_detector_score": ("0.3",)}
    spec = SPECS["face_detector_score"]
    found = [merge(SCHEMA, *given).snapshot for given in (({}, {}), ({}, variable), (flag, variable))]
    assert [snapshot.value(spec) for snapshot in found] == [0.1, 0.2, 0.3]
    origins = [str(snapshot.origin("face_detector_score")) for snapshot in found]
    assert origins == ["from facefusion.ini:2", "from the environment", "from command line"]


def test_the_template_of_the_repository_sets_nothing(tmp_path):
    (tmp_path / "facefusion.ini").write_text(ini_template(SCHEMA), encoding="utf-8")
    result = merge(SCHEMA, {}, {})
    assert result.warnings == ()
    assert all(result.snapshot.origin(name) == DEFAULT for name in SPECS)
