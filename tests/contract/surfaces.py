"""The ways in which a value reaches an option, and values to send along them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from facefusion.cli.application import load_application
from facefusion.cli.command import find_command
from facefusion.cli.main import program_schema
from facefusion.cli.parser import parse_command
from facefusion.config.frozen import thaw
from facefusion.config.option import Scope
from facefusion.config.schema import OptionSpec
from facefusion.config.sources import merge
from facefusion.config.state import Snapshot
from facefusion.config.values import join_words

SCHEMA = program_schema(load_application())
POSITIONALS = {
    "JOB_ID": "demo",
    "STEP_INDEX": "-1",
    "JOB_STATUS": "queued",
    "SHELL": "bash",
    "FILE": "a.jpg",
    "ACTION": "show",
}
PLACE = "job demo, step 0"


def command_line(command: str, *words: str) -> Snapshot:
    """The settings in force for a command line."""
    found = find_command(command)
    assert found is not None
    before = [POSITIONALS[one.name] for one in found.positionals if not one.many]
    invocation = parse_command(found, (*before, *words), SCHEMA)
    assert invocation.words == tuple(before)
    return merge(SCHEMA, invocation.arguments, {}, command).snapshot


def by_command_line(spec: OptionSpec, words: tuple[str, ...]) -> Snapshot:
    if spec.type.is_flag:
        return command_line(spec.commands[0], spec.flag if words == ("true",) else f"--no-{spec.flag[2:]}")
    return command_line(spec.commands[0], spec.flag, *words)


def by_ini(spec: OptionSpec, words: tuple[str, ...]) -> Snapshot:
    text = (join_words(words) if spec.type.is_list else words[0]).replace("%", "%%")
    Path("facefusion.ini").write_text(f"[{spec.section}]\n{spec.name} = {text}\n", encoding="utf-8")
    try:
        return merge(SCHEMA, {}, {}).snapshot
    finally:
        Path("facefusion.ini").unlink()


def by_environment(spec: OptionSpec, words: tuple[str, ...]) -> Snapshot:
    return merge(SCHEMA, {}, {spec.variable: join_words(words) if spec.type.is_list else words[0]}).snapshot


def by_job_file(spec: OptionSpec, words: tuple[str, ...]) -> Snapshot:
    """Through the JSON that a job file would hold."""
    values = [json_value(spec, word) for word in words]
    args = json.loads(json.dumps({spec.name: values if spec.type.is_list else values[0]}))
    thawed = thaw(SCHEMA, args, PLACE)
    return merge(SCHEMA, {}, {}).snapshot.with_values(thawed.values, thawed.origin)


Surface = Callable[[OptionSpec, tuple[str, ...]], Snapshot]


def surfaces(spec: OptionSpec) -> dict[str, Surface]:
    """Every way to the option, and how an error names it there."""
    ways: dict[str, Surface] = {"command line": by_command_line}
    if spec.about.in_ini:
        ways["ini file"] = by_ini
    ways["environment"] = by_environment
    if spec.about.scope is Scope.STEP:
        ways["job file"] = by_job_file
    return ways


def name_on(surface: str, spec: OptionSpec) -> str:
    """What an error calls the option."""
    return {
        "command line": spec.flag,
        "ini file": f"[{spec.section}] {spec.name}",
        "environment": spec.variable,
        "job file": spec.name,
    }[surface]


def json_value(spec: OptionSpec, word: str) -> object:
    """A word as JSON would hold it: a number as a number, a switch as a switch."""
    scalar = spec.type.scalar
    try:
        if scalar is bool and word in ("true", "false"):
            return word == "true"
        return scalar(word) if scalar in (int, float) else word
    except ValueError:
        return word


def good_values(spec: OptionSpec) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Words that the option takes and the value they stand for."""
    for value in _good_scalars(spec):
        if not spec.type.is_list:
            yield (str(value).lower() if isinstance(value, bool) else str(value),), value
            continue
        longest = spec.about.lengths[1] if spec.about.lengths else 3
        for count in (1, longest):
            yield (str(value),) * count, (value,) * count


def _good_scalars(spec: OptionSpec) -> Iterator[Any]:
    about, scalar = spec.about, spec.type.scalar
    if spec.choices is not None:
        allowed = [choice for choice in spec.choices() if fits_others(spec, choice)]
        yield from (scalar(choice) for choice in allowed)
    elif scalar is bool:
        yield from (True, False)
    elif scalar in (int, float):
        low = about.minimum if about.minimum is not None else -7
        high = about.maximum if about.maximum is not None else 100_000
        yield from (scalar(low), scalar(high), scalar(low + (high - low) * 0.43))
    elif scalar is Path:
        yield from (Path("a folder/50% of it's.mp4"), Path('"quoted" name'), Path("ünï.png"))
    elif about.form is not None:
        yield FORMED[spec.name]
    else:
        yield "clips/*/{index:03d} 100%.mp4"


FORMED = {
    "deep_swapper_model": "custom/my face",
    "jwt_issuer": "https://login.example.org/realms/faces",
    "jwt_keys_url": "https://login.example.org/keys?set=1",
    "metrics_address": "[::1]:7861",
    "storage_url": "s3://faces.example/jobs.1",
    "redis_url": "rediss://redis.example.org:6380/1",
    "face_map": "he == she 50%.png=my face.jpg+her's ++ mine.jpg",
    "output_image_resolution": "1280x720",
    "output_video_resolution": "1280x720",
}
"""A value of each option whose text has a form."""


def fits_others(spec: OptionSpec, choice: str) -> bool:
    """Whether a choice goes with the other options' defaults."""
    depends = spec.about.depends
    if depends is None:
        return True
    allowed = depends.choices(SCHEMA[depends.option].default)
    return allowed is None or choice in allowed


def bad_values(spec: OptionSpec) -> Iterator[tuple[tuple[str, ...], str]]:
    """Words that the option refuses, and what the error says of what it takes."""
    about, scalar = spec.about, spec.type.scalar
    if spec.choices is not None:
        yield ("no-such-choice",), f"must be {'a whole number' if scalar is int else 'one of '}"
        if scalar is int:
            yield ("45",), "must be one of 0, 90, 180, 270"
    elif scalar is bool:
        yield ("perhaps",), "must be one of 1, yes, true, on, 0, no, false, off"
    elif scalar in (int, float):
        yield ("many",), "must be a whole number" if scalar is int else "must be a number"
        if scalar is int:
            yield ("1.5",), "must be a whole number"
        else:
            yield ("nan",), "must be a finite number"
        if about.minimum is not None:
            yield (str(scalar(about.minimum - 1)),), _range(about.minimum, about.maximum)
        if about.maximum is not None:
            yield (str(scalar(about.maximum + 1)),), _range(about.minimum, about.maximum)
    elif about.form is not None:
        yield ("nonsense",), f"must be written as {about.form.text}"
    if about.lengths is not None and spec.type.is_list:
        word = next(good_values(spec))[0][0]
        least, most = about.lengths
        yield (word,) * (most + 1), f"takes {least} to {most} values, not {most + 1}"


def _range(minimum: float | None, maximum: float | None) -> str:
    if minimum is not None and maximum is not None:
        return f"must be between {minimum:g} and {maximum:g}"
    return f"must be at least {minimum:g}" if minimum is not None else f"must be at most {maximum:g}"
