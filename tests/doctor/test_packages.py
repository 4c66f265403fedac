from __future__ import annotations

import sys
from pathlib import Path

import pytest

from facefusion.doctor.finding import Level
from facefusion.doctor.packages import (
    SUPPORTED_PYTHONS,
    Environment,
    Pin,
    import_findings,
    python_finding,
    read_pins,
    required_lines,
    shadow_findings,
    version_findings,
)
from scripts.setup_environment import SUPPORTED_VERSIONS

PINNED = ("numpy==2.4.6", "onnxruntime-gpu==1.31.1", "pillow-heif==1.8.1")
INSTALL = f"Run: {sys.executable} -m pip install -r {Path(__file__).parents[2] / 'requirements.txt'}"
LOADED = {"onnxruntime": "", "numpy": ""}


def environment(**versions):
    found = {name.replace("_", "-"): version for name, version in versions.items()}
    builds = [name for name in found if name.startswith("onnxruntime")]
    return Environment(found, {"onnxruntime": builds, "numpy": ["numpy", "NumPy"]})


def compare(**versions):
    return [(one.level, one.text) for one in version_findings(PINNED, environment(**versions), LOADED)]


def test_the_supported_versions_are_those_of_the_set_up():
    assert SUPPORTED_PYTHONS == SUPPORTED_VERSIONS


@pytest.mark.parametrize(
    ("version", "level"), [((3, 11), Level.OK), ((3, 13), Level.OK), ((3, 10), Level.WARNING), ((3, 14), Level.WARNING)]
)
def test_another_python_is_a_warning(version, level):
    assert python_finding(version).level is level


def test_pins_for_other_machines_and_lines_that_are_none_do_not_count():
    lines = [
        "# a comment",
        "-r other.txt",
        "",
        "numpy==2.4.6  # why",
        "Some_Package[extra]==1.0",
        "never==1 ; python_version < '3'",
        "always==2 ; python_version >= '3'",
        "open>=3",
    ]
    assert read_pins(lines) == (Pin("numpy", "2.4.6"), Pin("some-package", "1.0"), Pin("always", "2"))


def test_the_programs_own_list_names_exactly_one_onnxruntime():
    names = [pin.name for pin in read_pins(required_lines())]
    assert len([name for name in names if name.startswith("onnxruntime")]) == 1
    assert {"av", "numpy", "opencv-python", "packaging"} <= set(names)


def test_packages_as_pinned_are_one_line():
    assert compare(numpy="2.4.6", onnxruntime_gpu="1.31.1", pillow_heif="1.8.1") == [
        (Level.OK, "3 of 3 packages are as requirements.txt pins them")
    ]


def test_each_package_that_differs_or_is_missing_is_a_warning_with_the_command_that_mends_it():
    found = list(version_findings(PINNED, environment(numpy="2.0.0", onnxruntime_gpu="1.31.1"), LOADED))
    assert [(one.level, one.text, one.remedy) for one in found[1:]] == [
        (Level.WARNING, "numpy 2.0.0 is installed, and requirements.txt pins 2.4.6", INSTALL),
        (Level.WARNING, "pillow-heif 1.8.1 is not installed", INSTALL),
    ]


def test_another_build_of_the_same_onnxruntime_is_a_choice_and_of_another_version_a_warning():
    same = compare(numpy="2.4.6", onnxruntime_openvino="1.31.1", pillow_heif="1.8.1")
    other = compare(numpy="2.4.6", onnxruntime="1.32.0", pillow_heif="1.8.1")
    assert same[1] == (Level.NOTE, "onnxruntime-openvino 1.31.1 stands in the place of onnxruntime-gpu 1.31.1")
    assert other[1] == (Level.WARNING, "onnxruntime 1.32.0 stands in the place of onnxruntime-gpu 1.31.1")


def test_a_package_that_was_told_as_missing_is_not_told_again():
    missing = {"numpy": "ModuleNotFoundError: No module named 'numpy'"}
    installed = environment(onnxruntime_gpu="1.31.1", pillow_heif="1.8.1")
    assert [one.level for one in version_findings(PINNED, installed, missing)] == [Level.OK]
    older = environment(numpy="1.0", onnxruntime_gpu="1.31.1", pillow_heif="1.8.1")
    assert [one.level for one in version_findings(PINNED, older, missing)] == [Level.OK, Level.WARNING]


def test_without_any_onnxruntime_the_pinned_one_is_missing():
    assert (Level.WARNING, "onnxruntime-gpu 1.31.1 is not installed") in compare(numpy="2.4.6", pillow_heif="1.8.1")


def test_a_processor_build_beside_the_one_for_cards_is_said_with_the_way_out():
    both = environment(onnxruntime="1.31.1", onnxruntime_gpu="1.31.1")
    (finding,) = shadow_findings(both)
    assert finding.level is Level.WARNING
    assert finding.text == (
        "onnxruntime 1.31.1 and onnxruntime-gpu 1.31.1 overwrite each other's files, so execution providers of one of "
        "them are hidden"
    )
    assert f"{sys.executable} -m pip uninstall -y onnxruntime onnxruntime-gpu; then {INSTALL[5:]}" in finding.remedy
    assert list(shadow_findings(environment(onnxruntime_gpu="1.31.1"))) == []


def test_without_the_package_that_reads_requirements_no_versions_are_compared(monkeypatch):
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    assert compare() == [(Level.WARNING, "packaging is missing, so no versions are compared")]


def test_imports_that_fail_are_faults_by_the_name_of_the_package():
    found = list(
        import_findings(
            {
                "av": "",
                "cv2": "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
                "PIL": "ModuleNotFoundError: No module named 'PIL'",
                "onnxruntime": "importing it ends the process (SIGILL)",
            }
        )
    )
    assert [(one.level, one.text) for one in found] == [
        (Level.OK, "av can be imported"),
        (Level.FAULT, "OpenCV needs libGL.so.1, which this system lacks"),
        (Level.FAULT, "pillow is not installed"),
        (Level.FAULT, "onnxruntime cannot be imported: importing it ends the process (SIGILL)"),
    ]
    assert "opencv-python-headless" in found[1].remedy
    assert [one.remedy for one in found[2:]] == [INSTALL, INSTALL]
