from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement

from scripts.setup_environment import SUPPORTED_VERSIONS

ROOT = Path(__file__).parents[2]
FILES = (
    "requirements.txt",
    "requirements-cuda.txt",
    "requirements-dev.txt",
    "requirements-service.txt",
    "requirements-service-dev.txt",
)


def requirements(name: str) -> list[Requirement]:
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-r")]


def version(name: str, package: str) -> str:
    (found,) = {str(entry.specifier) for entry in requirements(name) if entry.name == package}
    return found.removeprefix("==")


@pytest.mark.parametrize("name", FILES)
def test_every_package_is_pinned_exactly_and_once(name):
    entries = requirements(name)
    assert [str(entry) for entry in entries if not re.fullmatch(r"==[\w.!]+", str(entry.specifier))] == []
    assert len({entry.name for entry in entries}) == len(entries)


def test_the_packages_of_the_card_are_there():
    names = {entry.name for entry in requirements("requirements.txt")}
    assert {"onnxruntime-gpu", "opencv-python", "numpy", "tqdm", "psutil", "ffmpeg-python", "av"} <= names


@pytest.mark.parametrize(
    ("platform", "machine", "runtime"),
    [
        ("linux", "x86_64", "onnxruntime-gpu"),
        ("linux", "aarch64", "onnxruntime"),
        ("win32", "AMD64", "onnxruntime-gpu"),
        ("win32", "ARM64", "onnxruntime"),
        ("darwin", "arm64", "onnxruntime"),
        ("darwin", "x86_64", "onnxruntime"),
    ],
)
def test_each_platform_gets_exactly_one_runtime(platform, machine, runtime):
    def applies(marker: Marker | None) -> bool:
        return marker is None or marker.evaluate({"sys_platform": platform, "platform_machine": machine})

    chosen = [entry for entry in requirements("requirements.txt") if entry.name.startswith("onnxruntime")]
    assert [entry.name for entry in chosen if applies(entry.marker)] == [runtime]


def test_both_runtimes_have_the_same_version_as_the_one_for_cuda():
    version_of_all = version("requirements.txt", "onnxruntime")
    assert version("requirements.txt", "onnxruntime-gpu") == version_of_all
    assert version("requirements-cuda.txt", "onnxruntime-gpu") == version_of_all


def test_tensorrt_is_of_the_line_that_the_runtime_links():
    assert version("requirements-cuda.txt", "tensorrt-cu13-libs").split(".")[0] == "10"


@pytest.mark.parametrize("name", FILES[1:-1])
def test_the_other_lists_hold_the_versions_of_the_first(name):
    assert "-r requirements.txt" in (ROOT / name).read_text().splitlines()


def test_tests_of_the_service_hold_the_versions_of_its_list():
    assert "-r requirements-service.txt" in (ROOT / FILES[-1]).read_text().splitlines()


def test_the_watermark_is_an_extra_that_nothing_else_brings():
    assert [str(entry) for entry in requirements("requirements-watermark.txt")] == ["trustmark==0.9.2"]
    assert "-r requirements.txt" in (ROOT / "requirements-watermark.txt").read_text().splitlines()
    assert all(entry.name not in {"trustmark", "torch"} for name in FILES for entry in requirements(name))


def test_the_package_and_the_set_up_agree_on_python():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest, newest = SUPPORTED_VERSIONS[0], SUPPORTED_VERSIONS[-1]
    assert project["requires-python"] == f">={oldest[0]}.{oldest[1]},<{newest[0]}.{newest[1] + 1}"
    assert sys.version_info[:2] in SUPPORTED_VERSIONS


def test_the_project_takes_its_dependencies_from_the_list():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "dependencies" not in settings["project"]
    assert settings["tool"]["setuptools"]["dynamic"]["dependencies"] == {"file": ["requirements.txt"]}
