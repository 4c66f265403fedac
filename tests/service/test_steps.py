from pathlib import Path

import pytest

from facefusion.cli.application import load_application
from facefusion.cli.main import program_schema
from facefusion.config.settings import PathsSettings, ProcessorsSettings
from facefusion.config.state import Snapshot
from facefusion.content.settings import ContentAnalyserSettings
from facefusion.core.errors import OptionError
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.inference.settings import ExecutionSettings
from facefusion.provenance.label_settings import LabelSettings
from facefusion.provenance.settings import MarkingSettings
from facefusion.provenance.watermark_settings import WatermarkSettings
from facefusion.service.problems import FieldsError
from facefusion.service.steps import MACHINES, StepRules, step_snapshot


@pytest.fixture(scope="module")
def schema():
    return program_schema(load_application())


@pytest.fixture(scope="module")
def base(schema):
    return Snapshot(schema, {}, {})


@pytest.fixture(scope="module")
def rules(base):
    return StepRules(base)


def faults(rules, **fields):
    with pytest.raises(FieldsError) as refused:
        rules.frozen(fields)
    return {fault.field: fault.detail for fault in refused.value.faults}


def test_a_step_is_kept_whole_and_without_paths(rules):
    step = rules.frozen({"processors": ["face_debugger"], "face_detector_score": 0.25})
    assert step["processors"] == ["face_debugger"]
    assert step["face_detector_score"] == 0.25
    assert step["output_video_quality"] == 80
    assert step["content_analyser_model"] == "auto"
    assert step.keys().isdisjoint({"source_paths", "target_path", "output_path", *MACHINES})


def test_every_field_that_is_wrong_is_named(rules):
    found = faults(rules, face_detector_score=7, face_mask_blur="soft", nonsense=1, processors=["face_enhancer"])
    assert found == {
        "step.face_detector_score": "face_detector_score = 7: must be between 0 and 1 (from the request).",
        "step.face_mask_blur": "face_mask_blur = soft: must be a number (from the request).",
        "step.nonsense": found["step.nonsense"],
    }
    assert found["step.nonsense"].startswith("the request: there is no setting nonsense. ")


@pytest.mark.parametrize("name", ["target_path", "source_paths", "output_path", "face_map", "keep_temp"])
def test_no_client_names_a_file_of_the_service(rules, name):
    assert faults(rules, **{name: "/etc/passwd"}) == {
        f"step.{name}": f"the request: {name} names what lies on a machine of the service. "
        "Files are uploaded, and named by their ids in 'target' and 'sources'."
    }


@pytest.mark.parametrize("name", ["execution_providers", "jobs_path", "log_level", "retention_hours", "redis_url"])
def test_how_a_machine_works_is_not_a_clients_to_choose(rules, name):
    (fault,) = faults(rules, **{name: "1"}).values()
    assert fault == f"the request: {name} is no setting of a step. It belongs to the command that runs the job."


@pytest.mark.parametrize("value", [{}, {"a": 1}, [[1]], [{"a": 1}], float("nan"), float("inf"), "\0", 10**400])
def test_values_of_no_use_are_refused(rules, value):
    assert set(faults(rules, face_mask_padding=value)) == {"step.face_mask_padding"}


def test_the_content_filter_is_the_operators(base, rules):
    choice = next(c for c in base.schema["content_analyser_model"].choices() if c != "auto")
    assert faults(rules, content_analyser_model=choice) == {
        "step.content_analyser_model": "the request: content_analyser_model is the operator's to choose. Leave it out."
    }
    assert "content_analyser_model" not in rules.json_schema()["properties"]
    offering = StepRules(base, ["content_analyser_model"])
    assert offering.frozen({"content_analyser_model": choice})["content_analyser_model"] == choice
    assert "content_analyser_model" in offering.json_schema()["properties"]


@pytest.mark.parametrize("group", [ContentAnalyserSettings, MarkingSettings, LabelSettings, WatermarkSettings])
def test_every_setting_of_filter_and_marks_is_held(schema, rules, group):
    held = {spec.name for spec in schema if spec.group is group}
    assert held
    assert held.isdisjoint(spec.name for spec in rules.choosable)
    assert set(faults(rules, **dict.fromkeys(held, "1"))) == {f"step.{name}" for name in held}


def test_the_operators_label_is_on_what_clients_order(base):
    rules = StepRules(base.with_values({"label": "made by machines", "content_analyser_second": "open_nsfw"}))
    step = rules.frozen({"processors": ["face_debugger"]})
    assert (step["label"], step["content_analyser_second"]) == ("made by machines", "open_nsfw")


@pytest.mark.parametrize("name", ["target_path", "face_map", "nonsense", "execution_providers"])
def test_an_operator_cannot_offer_what_is_none_of_theirs(base, name):
    with pytest.raises(OptionError, match=f"--client-options {name}: this is no setting of the operator's"):
        StepRules(base, [name])


def test_what_the_operator_set_holds_where_nothing_is_chosen(base):
    rules = StepRules(base.with_values({"output_video_quality": 55, "target_path": Path("/srv/x.mp4")}))
    assert rules.frozen({})["output_video_quality"] == 55
    assert rules.frozen({"output_video_quality": 60})["output_video_quality"] == 60
    assert "/srv/x.mp4" not in str(rules.frozen({}))


def test_values_that_do_not_go_together_are_refused(rules):
    found = faults(rules, face_swapper_model="inswapper_128", face_swapper_pixel_boost="111x111")
    assert list(found) == ["step.face_swapper_pixel_boost"] or list(found) == ["step"]


def test_a_worker_takes_a_step_with_its_own_way_to_work(base, rules):
    step = rules.frozen({"processors": ["face_debugger"], "face_selector_mode": "one"})
    machine = base.with_values(
        {"execution_thread_count": 3, "face_selector_mode": "many", "output_path": Path("elsewhere.mp4")}
    )
    taken = step_snapshot(machine, step, Path("t.mp4"), [Path("s.jpg")], Path("o.mp4"))
    paths = taken.get(PathsSettings)
    assert (paths.target_path, paths.source_paths, paths.output_path) == (
        Path("t.mp4"),
        (Path("s.jpg"),),
        Path("o.mp4"),
    )
    assert taken.get(ProcessorsSettings).processors == ("face_debugger",)
    assert taken.get(FaceSelectorSettings).face_selector_mode == "one"
    assert taken.get(ExecutionSettings).execution_thread_count == 3
    assert not taken.origin("output_video_quality").given


@pytest.mark.parametrize(
    ("asked", "name", "taken"),
    [
        ("full", "o.mp4", "full"),
        ("full", "o.mkv", "metadata"),
        ("full", "o.bmp", "metadata"),
        ("metadata", "o.mp4", "metadata"),
        ("off", "o.mkv", "off"),
    ],
)
def test_what_a_manifest_would_lie_beside_says_what_it_can(base, asked, name, taken):
    step = StepRules(base.with_values({"marking": asked})).frozen({})
    snapshot = step_snapshot(base, step, Path("t.mp4"), [], Path(name))
    assert snapshot.get(MarkingSettings).marking == taken


def test_marks_are_the_operators_unless_they_are_offered(base, rules):
    assert "marking" in str(faults(rules, marking="off"))
    offered = StepRules(base, ["marking"])
    assert offered.frozen({"marking": "off"})["marking"] == "off"


def test_the_schema_says_type_bounds_choices_and_default(rules):
    properties = rules.json_schema()["properties"]
    assert properties["face_detector_score"] == {
        "type": "number",
        "minimum": 0.0,
        "maximum": 1.0,
        "default": 0.5,
        "description": properties["face_detector_score"]["description"],
    }
    padding = properties["face_mask_padding"]
    assert (padding["type"], padding["items"]["type"]) == ("array", "integer")
    assert "face_swapper" in properties["processors"]["items"]["enum"]
    assert "one" in properties["face_selector_mode"]["enum"]
    assert properties.keys().isdisjoint({"target_path", "face_map", "keep_temp"})
