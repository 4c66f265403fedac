"""What a FaceFusion 3.8 user types and keeps in files is understood here.

``facefusion_3_8.toml`` holds the facts. Where we differ on purpose, the difference stands in this file.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from facefusion.cli.command import COMMANDS
from facefusion.cli.flags import CommandFlags
from facefusion.cli.main import main
from facefusion.config.frozen import freeze, thaw
from facefusion.config.option import Scope
from facefusion.config.origin import DEFAULT
from facefusion.config.schema import OptionSpec, flag_of
from facefusion.config.settings import ProcessorsSettings
from facefusion.config.sources import merge
from facefusion.config.values import check, format_value
from facefusion.core.errors import OptionError, UsageError
from facefusion.processors.registry import processor_names
from tests.contract.surfaces import SCHEMA, command_line

TABLE: dict[str, Any] = tomllib.loads(Path(__file__).with_name("facefusion_3_8.toml").read_text(encoding="utf-8"))
FACTS: dict[str, dict[str, Any]] = TABLE["options"]
SETS: dict[str, list[str]] = TABLE["sets"]

OUR_DEFAULTS = {
    "execution_device_ids": "",
    "execution_thread_count": "0",
    "video_memory_strategy": "balanced",
    "halt_on_error": "false",
    "open_browser": "false",
}
"""Defaults that differ and are kept in no job file: the first three are measured from the machine, or the ones that the
project set out with; the others are the word for off."""

RETIRED_BOOST = "768x768"
"""A size that FaceFusion offered for one model, and failed on; it is a multiple of another's."""

INI_KEYS = [(fact["section"], name) for name, fact in FACTS.items() if "section" in fact]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def commands_of(fact: dict[str, Any]) -> list[str]:
    commands = fact["commands"]
    return SETS[commands] if isinstance(commands, str) else commands


def samples(name: str, fact: dict[str, Any]) -> list[tuple[str, ...]]:
    """Words that FaceFusion takes for an option."""
    kind = fact["kind"]
    if kind == "flag":
        return [()]
    if kind == "choice":
        return [(choice,) for choice in fact["choices"]]
    if kind == "choices":
        known = [choice for choice in fact["choices"] if name != "processors" or choice in processor_names()]
        return [tuple(known), *((choice,) for choice in known)]
    if kind in ("int", "float", "ints"):
        numbers = [str(fact[bound]) for bound in ("minimum", "maximum") if bound in fact] or ["0", "90"]
        if kind == "ints":
            return [(number,) * count for number in numbers for count in range(1, fact.get("longest", 2) + 1)]
        return [(number,) for number in numbers]
    others: dict[str, list[tuple[str, ...]]] = {
        "path": [("some file.mp4",)],
        "paths": [("a.jpg", "b.png", "c.mp3")],
        "text": [("custom/my_model",)],
    }
    return others[kind]


def test_the_table_holds_all_of_it():
    assert len(FACTS) == 105  # with --version 106
    assert len(INI_KEYS) == 104
    assert sum(fact["stored"] == "step" for fact in FACTS.values()) == 85
    assert len(SETS["ALL"]) == 19


def test_all_commands_are_there():
    assert set(SETS["ALL"]) <= {command.name for command in COMMANDS}


@pytest.mark.parametrize("name", FACTS)
def test_an_option_is_declared_as_its_users_know_it(name):
    fact = FACTS[name]
    spec = SCHEMA[name]
    assert set(commands_of(fact)) <= set(spec.commands)
    assert spec.about.short == fact.get("short")
    assert SCHEMA.at(fact["section"], name) is spec if "section" in fact else not spec.about.in_ini
    assert (spec.about.scope is Scope.STEP) == (fact["stored"] == "step")
    own = format_value(spec, spec.default)
    theirs = OUR_DEFAULTS.get(name, spec.about.facefusion_default and own)
    assert own == (fact["default"] if theirs is None else theirs)
    assert spec.about.facefusion_default in (None, fact["default"])


@pytest.mark.parametrize("name", [name for name in FACTS if name != "config_path"])
def test_every_command_takes_what_facefusion_takes(name):
    fact, spec = FACTS[name], SCHEMA[name]
    for words in samples(name, fact):
        others = ["--face-detector-model", "scrfd"] if name == "face_detector_size" else []
        if name == "face_swapper_pixel_boost":
            others = ["--face-swapper-model", "inswapper_128"]
        for command in commands_of(fact):
            snapshot = command_line(command, *others, spec.flag, *words)
            if fact["kind"] == "flag":
                assert snapshot.value(spec) is True
            elif spec.about.value_aliases.get(words[0]) is None:
                value = snapshot.value(spec)
                assert list(map(str, value)) == list(words) if spec.type.is_list else str(value) == _as(spec, words[0])


def _as(spec: OptionSpec, word: str) -> str:
    return str(spec.type.scalar(word))


@pytest.mark.parametrize(
    ("written", "option", "value"),
    [
        ("--face-detector-score 0.33", "face_detector_score", 0.33),
        ("--face-detector-score=.5", "face_detector_score", 0.5),
        ("--face-mask-b 0.5", "face_mask_blur", 0.5),
        ("--face-editor-head-yaw -0.3", "face_editor_head_yaw", -0.3),
        ("--trim-frame-start -5", "trim_frame_start", -5),
        ("--log-level debug --log-level warn", "log_level", "warn"),
        ("--log-level WARNING", "log_level", "warn"),
        ("--face-detector-model yoloface", "face_detector_model", "yolo_face"),
        ("--temp-frame-format jpg", "temp_frame_format", "jpeg"),
        ("--execution-device-id 1", "execution_device_ids", (1,)),
        ("--execution-queue-count 4", "execution_queue_count", 4),
        ("--system-memory-limit 8", "system_memory_limit", 8),
        ("--background-remover-color 1 2 3", "background_remover_fill_color", (1, 2, 3)),
        ("--video-memory-strategy tolerant", "video_memory_strategy", "aggressive"),
        ("--output-video-fps 23.976", "output_video_fps", 23.976),
        ("--keep-temp", "keep_temp", True),
        ("--skip-audio", "output_audio_volume", 0),
        ("--face-debugger-items age bounding-box gender", "face_debugger_items", ("bounding-box",)),
    ],
)
def test_spellings_of_every_release(written, option, value):
    assert command_line("headless-run", *written.split()).value(SCHEMA[option]) == value


@pytest.mark.parametrize(
    ("words", "warning"),
    [
        (
            ("--skip-audio",),
            "warning: --skip-audio was removed in FaceFusion 3.2. Taken as --output-audio-volume 0.\n",
        ),
        (
            ("--skip-download",),
            "warning: --skip-download was removed in FaceFusion 3.1. It has no effect: models are fetched only where "
            "they are missing.\n",
        ),
        (
            ("--face-debugger-items", "age", "face-mask"),
            "warning: --face-debugger-items age face-mask: age is passed over, an earlier FaceFusion removed it "
            "(from command line)\n",
        ),
        (
            ("--temp-pixel-format", "bgra"),
            "warning: --temp-pixel-format bgra has no effect: frames keep the target's own pixel format, and "
            "transparency where the result can hold it (from command line)\n",
        ),
    ],
)
def test_what_does_nothing_is_said_once(words, warning, capsys):
    main(["headless-run", *words])
    assert capsys.readouterr().err.count(warning) == 1


def test_a_value_on_the_line_wins_over_what_a_retired_switch_stands_for():
    snapshot = command_line("run", "--skip-audio", "--output-audio-volume", "40")
    assert snapshot.value(SCHEMA["output_audio_volume"]) == 40


def test_retired_keys_of_an_ini_file_are_mapped_or_warned_about():
    text = "[output_creation]\nskip_audio = True\n[misc]\nskip_download =\n[download]\nskip_download = true\n"
    Path("facefusion.ini").write_text(text, encoding="utf-8")
    result = merge(SCHEMA, {}, {})
    assert result.snapshot.value(SCHEMA["output_audio_volume"]) == 0
    assert str(result.snapshot.origin("output_audio_volume")) == "from facefusion.ini:2"
    assert result.warnings == (
        "[output_creation] skip_audio = True (facefusion.ini:2) was removed in FaceFusion 3.2. Taken as "
        "--output-audio-volume 0.",
        "[download] skip_download = true (facefusion.ini:6) was removed in FaceFusion 3.1. It has no effect: models "
        "are fetched only where they are missing.",
    )


def test_a_retired_switch_that_is_off_changes_nothing():
    Path("facefusion.ini").write_text("[output_creation]\nskip_audio = no\n", encoding="utf-8")
    result = merge(SCHEMA, {}, {})
    assert all(result.snapshot.origin(spec.name) == DEFAULT for spec in SCHEMA if spec.name != "output_audio_volume")
    assert result.snapshot.value(SCHEMA["output_audio_volume"]) == 100


def stock_ini(values: bool) -> str:
    lines = []
    for section in dict.fromkeys(section for section, _ in INI_KEYS):
        keys = [key for at, key in INI_KEYS if at == section]
        lines += [f"[{section}]", *(f"{key} = {FACTS[key]['default'] if values else ''}" for key in keys)]
    return "\r\n".join(lines)


@pytest.mark.parametrize("values", [False, True])
def test_an_ini_file_of_facefusion_is_taken_as_it_is(values, capsys):
    Path("facefusion.ini").write_bytes(b"\xef\xbb\xbf" + stock_ini(values).encode())
    assert main(["config"]) == 0
    assert capsys.readouterr().err == ""


def test_processors_to_come_are_refused_by_name():
    to_come = set(FACTS["processors"]["choices"]) - set(processor_names())
    assert set(SCHEMA["processors"].awaited()) == to_come
    for name in sorted(to_come):
        with pytest.raises(OptionError) as refused:
            command_line("run", "--processors", "face_swapper", name)
        assert f"{name} is not available in this version" in str(refused.value)
    assert command_line("run").get(ProcessorsSettings).processors == ("face_swapper",)


def facefusion_step(**changes: object) -> dict[str, object]:
    """The settings of a step as FaceFusion 3.8 writes them when nothing was chosen but the files."""
    args: dict[str, object] = {}
    for name, fact in FACTS.items():
        if fact["stored"] == "step":
            args[name] = _frozen(fact)
    return {**args, "source_paths": ["face.jpg"], "target_path": "clip.mp4", "output_path": "out/clip.mp4", **changes}


def _frozen(fact: dict[str, Any]) -> object:
    default, kind = fact["default"], fact["kind"]
    if kind in ("ints", "choices", "paths"):
        return [int(word) if kind == "ints" else word for word in default.split()]
    if default == "":
        return None
    return {"int": int, "float": float}.get(kind, str)(default)


def test_a_step_of_facefusion_that_chose_nothing_means_our_defaults():
    thawed = thaw(SCHEMA, facefusion_step(), "job a, step 0", foreign=True)
    assert thawed.warnings == ()
    given = {name: str(value) for name, value in thawed.values.items()}
    snapshot = merge(SCHEMA, {}, {}).snapshot.with_values(thawed.values, thawed.origin)
    changed = {name for name in given if snapshot.value(SCHEMA[name]) != SCHEMA[name].default}
    assert changed == {"source_paths", "target_path", "output_path"}


def test_what_a_step_of_facefusion_chose_is_kept():
    chosen = {
        "face_enhancer_model": "codeformer",
        "face_swapper_pixel_boost": "512x512",
        "output_audio_encoder": "aac",
        "output_video_quality": 95,
        "face_mask_padding": [5, 10],
    }
    thawed = thaw(SCHEMA, facefusion_step(**chosen), "job a, step 0", foreign=True)
    snapshot = merge(SCHEMA, {}, {}).snapshot.with_values(thawed.values, thawed.origin)
    assert {name: freeze(snapshot)[name] for name in chosen} == chosen
    assert thawed.warnings == ()


def test_a_step_of_an_older_release_runs_without_the_keys_that_came_later():
    old = facefusion_step(skip_audio=True, output_video_resolution="1280x720", background_remover_color=[0, 0, 0, 255])
    for late in (
        "workflow_mode",
        "workflow_strategy",
        "temp_pixel_format",
        "target_frame_amount",
        "face_tracker_score",
    ):
        del old[late]
    thawed = thaw(SCHEMA, old, "job a, step 0", foreign=True)
    assert thawed.values["output_audio_volume"] == 0
    assert thawed.values["background_remover_fill_color"] == (0, 0, 0, 255)
    assert thawed.warnings == (
        "skip_audio (job a, step 0) was removed in FaceFusion 3.2. Taken as --output-audio-volume 0.",
    )


@pytest.mark.parametrize("size", ["768x768", "256x256"])
def test_sizes_that_a_model_cannot_serve_are_refused_with_those_it_can(size):
    with pytest.raises(OptionError) as refused:
        command_line("run", "--face-swapper-model", "simswap_unofficial_512", "--face-swapper-pixel-boost", size)
    assert str(refused.value) == (
        f"face_swapper_pixel_boost = {size}: must be one of 512x512, 1024x1024 with face_swapper_model "
        "simswap_unofficial_512 (from command line)."
    )


def test_a_check_of_a_value_needs_no_text():
    spec = SCHEMA["target_path"]
    assert check(spec, Path(' odd "name" '), DEFAULT) == Path(' odd "name" ')


def beginnings(names: list[str], name: str) -> list[str]:
    """Every beginning of a flag that means that flag to FaceFusion: argparse takes one that is no other's."""
    flag, others = flag_of(name), [flag_of(other) for other in (*names, "help") if other != name]
    return [flag[:end] for end in range(3, len(flag)) if not any(other.startswith(flag[:end]) for other in others)]


@pytest.mark.parametrize("command", SETS["ALL"])
def test_what_a_beginning_meant_it_means(command):
    names = [name for name, fact in FACTS.items() if command in commands_of(fact)]
    flags = CommandFlags("facefusion", command, SCHEMA)
    for name in names:
        for beginning in beginnings(names, name):
            assert flags.full(beginning) == flag_of(name)
    assert flags.full("--h" if "halt_on_error" not in names else "--he") == "--help"


def test_a_beginning_of_several_is_refused_where_facefusion_has_more_than_one():
    with pytest.raises(UsageError) as refused:
        CommandFlags("facefusion", "run", SCHEMA).full("--face-detector")
    assert str(refused.value).startswith("run: --face-detector is ambiguous: it may mean --face-detector-angles, ")


def test_own_options_are_those_that_facefusion_does_not_have():
    assert {spec.name for spec in SCHEMA if not spec.about.own} == set(FACTS)


def test_what_facefusion_passed_over_in_a_step_is_passed_over_and_said():
    thawed = thaw(SCHEMA, facefusion_step(foo="bar"), "job a, step 0", foreign=True)
    assert "foo" not in thawed.values
    assert thawed.warnings == ("foo is no setting that is known here, and is passed over (job a, step 0)",)


def test_an_unknown_key_of_our_own_is_an_error_that_stays_short():
    with pytest.raises(OptionError) as refused:
        thaw(SCHEMA, {"qqq": 1}, "job a, step 0")
    assert str(refused.value).startswith("job a, step 0: there is no setting qqq. Known are: source_paths, ")
    assert len(str(refused.value)) < 600


FORMER = {
    "face_swapper_model": "inswapper_128_fp16",
    "face_swapper_pixel_boost": "128x128",
    "output_audio_encoder": "aac",
    "reference_face_distance": 0.6,
    "face_enhancer_weight": 1.0,
    "deep_swapper_morph": 80,
    "target_frame_amount": 5,
}
LATE_KEYS = ("workflow_mode", "workflow_strategy", "temp_pixel_format", "output_audio_volume", "output_audio_quality")


def older_step(**changes: object) -> dict[str, object]:
    """A step that FaceFusion 3.1 wrote."""
    return {name: value for name, value in facefusion_step(**changes).items() if name not in LATE_KEYS}


def test_a_default_of_its_time_says_that_nothing_was_chosen():
    thawed = thaw(SCHEMA, older_step(**FORMER), "job a, step 0", foreign=True)
    assert not thawed.values.keys() & FORMER.keys()
    today = thaw(SCHEMA, facefusion_step(**FORMER), "job a, step 0", foreign=True)
    assert today.values["face_swapper_model"] == "inswapper_128_fp16"
    assert today.values["output_audio_encoder"] == "aac"


def test_a_distance_of_before_its_scale_was_halved_is_halved():
    assert (
        thaw(SCHEMA, older_step(reference_face_distance=0.8), "p", foreign=True).values["reference_face_distance"]
        == 0.4
    )
    late = facefusion_step(reference_face_distance=0.8)
    assert thaw(SCHEMA, late, "p", foreign=True).values["reference_face_distance"] == 0.8


@pytest.mark.parametrize(
    "args", [{"skip_audio": True, "output_audio_volume": 40}, {"output_audio_volume": 40, "skip_audio": True}]
)
def test_a_value_of_a_step_wins_over_what_a_retired_switch_stands_for(args):
    assert thaw(SCHEMA, args, "p", foreign=True).values == {"output_audio_volume": 40}


def test_a_bad_value_that_a_command_does_not_take_is_not_its_business(capsys):
    Path("facefusion.ini").write_text("[processors]\nface_enhancer_blend = 500\n", encoding="utf-8")
    assert main(["job-list", "queued"]) == 1
    assert capsys.readouterr().err == ""
    assert main(["config"]) == 2
    assert "[processors] face_enhancer_blend = 500: must be between 0 and 100" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ini", "message"),
    [
        (
            "[face_masker]\nface_mask_blur = 0.5 ; soft\n",
            "[face_masker] face_mask_blur = 0.5 ; soft: must be a number (from facefusion.ini:2). A comment has to "
            "stand on a line of its own.",
        ),
        (
            "[DEFAULT]\nlog_level = info\n",
            "facefusion.ini:2: [DEFAULT] is no section. Write each key in its own section; none is for all of them.",
        ),
    ],
)
def test_what_configparser_would_have_read_otherwise_is_said(ini, message):
    Path("facefusion.ini").write_text(ini, encoding="utf-8")
    with pytest.raises(OptionError) as refused:
        merge(SCHEMA, {}, {})
    assert str(refused.value) == message


def test_a_key_put_in_for_another_is_warned_about():
    Path("facefusion.ini").write_text("[paths]\njobs_path = j\ntemp_path = %(jobs_path)s/tmp\n", encoding="utf-8")
    assert merge(SCHEMA, {}, {}).warnings == (
        "[paths] temp_path = %(jobs_path)s/tmp is taken as it stands: %(jobs_path)s is not replaced by the value of a "
        "key (facefusion.ini:3)",
    )


def test_a_retired_variable_is_mapped_too():
    result = merge(SCHEMA, {}, {"FACEFUSION_SKIP_AUDIO": "true"})
    assert result.snapshot.value(SCHEMA["output_audio_volume"]) == 0
    assert result.warnings == (
        "FACEFUSION_SKIP_AUDIO=true was removed in FaceFusion 3.2. Taken as --output-audio-volume 0.",
    )


@pytest.mark.parametrize(
    ("words", "ini", "serves"),
    [
        (("--open-browser",), True, True),
        (("--ui-workflow", "job_runner"), True, True),
        ((), True, False),
        (("-t", "clip.mp4", "--open-browser"), True, False),
        ((), False, True),
    ],
)
def test_run_opens_the_page_where_it_is_asked_for(words, ini, serves, monkeypatch):
    served = []

    def serve(context):
        served.append(context)
        return 0

    monkeypatch.setattr("facefusion.cli.commands.serve.execute", serve)
    if ini:
        Path("facefusion.ini").write_text("[paths]\ntarget_path = clip.mp4\noutput_path = out.mp4\n", encoding="utf-8")
    assert (main(["run", *words]) == 0) is serves
    assert bool(served) is serves
