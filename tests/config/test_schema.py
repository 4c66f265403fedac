from __future__ import annotations

from pathlib import Path

import pytest

from facefusion.config.option import option, settings_group
from facefusion.config.schema import Schema, ValueType
from tests.config.groups import GROUPS, SCHEMA, SampleExecution


def test_an_option_is_found_under_each_of_its_names():
    spec = SCHEMA["execution_device_ids"]
    assert SCHEMA["execution_device_id"] is spec
    assert SCHEMA.at("execution", "execution_device_id") is spec
    assert SCHEMA.at("logging", "log_level") is SCHEMA["log_level"]
    assert SCHEMA.at("paths", "config_path") is None
    assert spec.flag == "--execution-device-ids"
    assert spec.variable == "FACEFUSION_EXECUTION_DEVICE_IDS"
    assert spec.group is SampleExecution


def test_the_annotation_is_the_type():
    assert SCHEMA["source_paths"].type == ValueType(Path, is_list=True)
    assert SCHEMA["target_path"].type == ValueType(Path, optional=True)
    assert SCHEMA["face_detector_score"].type == ValueType(float)
    assert SCHEMA["halt_on_error"].type.is_flag


def test_sections_and_groups_keep_the_order_of_declaration():
    assert SCHEMA.groups == GROUPS
    assert SCHEMA.sections == ("paths", "face_detector", "face_selector", "frame_extraction", "execution", "misc")


def test_choices_are_asked_for_when_needed_and_can_be_given_from_outside():
    asked = []

    @settings_group(section="processors")
    class Late:
        processors: tuple[str, ...] = option(("a",), "what to do")

    def choices():
        asked.append(1)
        return ("a", "b")

    spec = Schema.of((Late,), {"processors": choices})["processors"]
    assert asked == []
    assert spec.choices is not None
    assert spec.choices() == ("a", "b")


def test_a_name_that_is_taken_is_refused():
    @settings_group(section="other")
    class Clash:
        execution_device_id: int = option(0, "device")

    with pytest.raises(TypeError, match="'execution_device_id' already means SampleExecution"):
        Schema.of((SampleExecution, Clash))


@pytest.mark.parametrize("annotation", ["list[str]", "tuple[str, str]", "str | int", "complex"])
def test_a_type_that_no_source_can_write_is_refused(annotation):
    namespace = {"__annotations__": {"broken": annotation}, "broken": option(None, "x"), "__module__": __name__}
    with pytest.raises(TypeError, match=r"Broken\.broken"):
        Schema.of((settings_group(section="a")(type("Broken", (), namespace)),))


def test_a_plain_class_is_no_group():
    with pytest.raises(TypeError, match="Path is no settings group"):
        Schema.of((Path,))


def test_values_to_come_of_an_option_that_a_group_cannot_know_are_given_beside_it():
    @settings_group(section="processors")
    class Late:
        processors: tuple[str, ...] = option(("swap",), "what to do")

    spec = Schema.of((Late,), {"processors": lambda: ("swap",)}, {"processors": lambda: ("age",)})["processors"]
    assert spec.choices is not None
    assert (spec.choices(), spec.awaited()) == (("swap",), ("age",))
