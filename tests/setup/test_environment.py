from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import setup_environment as setup
from scripts.setup_environment import EnvironmentSetupError, Interpreter


def python(major: int, minor: int) -> Interpreter:
    return Interpreter((f"python{major}.{minor}",), (major, minor))


def test_the_first_supported_interpreter_is_taken():
    assert setup.choose_interpreter([python(3, 14), python(3, 10), python(3, 12), python(3, 13)]) == python(3, 12)


@pytest.mark.parametrize(
    ("found", "seen"),
    [([], "none"), ([python(3, 9), python(3, 14), python(3, 9)], "3.14, 3.9")],
    ids=["none", "others"],
)
def test_without_a_supported_interpreter_the_error_says_what_to_install(found, seen):
    with pytest.raises(EnvironmentSetupError) as caught:
        setup.choose_interpreter(found)
    assert str(caught.value) == (
        f"FaceFusion needs Python 3.11, 3.12 or 3.13, and this machine has {seen}. Install one of them, for example "
        "`apt install python3.12 python3.12-venv` (Debian, Ubuntu), `brew install python@3.12` (macOS) or "
        "`winget install Python.Python.3.12` (Windows), and run this again."
    )


def test_an_interpreter_is_asked_for_its_version(tmp_path):
    assert setup.probe((sys.executable,)) == Interpreter((sys.executable,), sys.version_info[:2])
    assert setup.probe((str(tmp_path / "python"),)) is None
    assert setup.probe((sys.executable, "-c", "print('no version')")) is None


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(EnvironmentSetupError, match="is no virtual environment"):
        setup.create(tmp_path, python(3, 12))
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_an_interpreter_without_venv_names_the_package(tmp_path):
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    with pytest.raises(EnvironmentSetupError) as caught:
        setup.create(tmp_path / "environment", Interpreter((str(fake),), (3, 13)))
    assert "Run `apt install python3.13-venv` (Debian, Ubuntu) and run this again." in str(caught.value)


def test_only_an_environment_made_in_full_is_used_again(tmp_path):
    environment = tmp_path / "environment"
    assert not setup.is_usable(environment)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    assert not setup.is_usable(environment), "interrupted before pip was there"
    (environment / setup.STAMP_NAME).write_text("{}")
    assert setup.is_usable(environment)
    (environment / setup.UNFINISHED_NAME).touch()
    assert not setup.is_usable(environment), "interrupted while packages were installed"


@pytest.mark.parametrize(
    ("development", "driver", "names"),
    [
        (False, None, ["requirements.txt"]),
        (True, None, ["requirements.txt", "requirements-dev.txt"]),
        (False, "580.65.06", ["requirements.txt", "requirements-cuda.txt"]),
        (True, "610.10", ["requirements.txt", "requirements-cuda.txt", "requirements-dev.txt"]),
        (False, "575.57.08", ["requirements.txt"]),
    ],
)
def test_the_card_and_the_use_decide_what_is_installed(development, driver, names):
    assert setup.wanted_files(development=development, driver=driver) == names


def test_the_service_is_installed_where_it_is_asked_for():
    names = ["requirements.txt", "requirements-service.txt"]
    assert setup.wanted_files(development=False, driver=None, service=True) == names
    assert setup.wanted_files(development=True, driver=None, service=True) == [
        *names,
        "requirements-dev.txt",
        "requirements-service-dev.txt",
    ]


def test_an_old_driver_is_told_what_fits_it():
    assert setup.old_driver_message("580.65.06") is None
    assert setup.old_driver_message("575.57.08") == (
        "The NVIDIA driver 575.57.08 is too old for CUDA 13: the card is not used. Update the driver to 580 or "
        "newer and run this again, or keep it and install the last build for CUDA 12 with "
        '`python -m pip install "onnxruntime-gpu[cuda,cudnn]==1.26.0"` in the environment.'
    )


@pytest.fixture
def tool_folder(tmp_path, monkeypatch):
    """A folder that is the whole search path, on a platform that has packages for cards."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return tmp_path


def put_tool(folder: Path, script: str) -> None:
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


def test_the_driver_is_read_from_nvidia_smi(tool_folder):
    assert setup.driver_version() is None
    put_tool(tool_folder, "echo 580.95.05\necho 580.95.05")
    assert setup.driver_version() == "580.95.05"


def test_a_card_that_does_not_work_is_said(tool_folder, capsys):
    put_tool(tool_folder, "echo 'NVIDIA-SMI has failed'; exit 9")
    assert setup.driver_version() is None
    assert "finds no card that works" in capsys.readouterr().out


def test_other_platforms_have_no_packages_for_a_card(tool_folder, monkeypatch):
    put_tool(tool_folder, "echo 580.95.05")
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert setup.driver_version() is None


def test_the_stamp_remembers_each_file(tmp_path):
    assert setup.read_stamp(tmp_path) == {}
    (tmp_path / setup.STAMP_NAME).write_text("{damaged")
    assert setup.read_stamp(tmp_path) == {}
    (tmp_path / "a.txt").write_text("one==1\n")
    before = setup.digests(["a.txt"], tmp_path)
    (tmp_path / setup.STAMP_NAME).write_text(json.dumps(before))
    assert setup.read_stamp(tmp_path) == before
    (tmp_path / "a.txt").write_text("one==2\n")
    assert setup.digests(["a.txt"], tmp_path) != before


def test_tensorrt_alone_can_be_left_out():
    text = "# CUDA\n-r requirements.txt\n\nonnxruntime-gpu[cuda]==1 # all\ntensorrt-cu13-libs==10\nnvidia-cufft==12\n"
    assert setup.without_tensorrt(text) == ["onnxruntime-gpu[cuda]==1", "nvidia-cufft==12"]


@pytest.mark.parametrize(
    ("error", "library"),
    [
        ("ImportError: libxcb.so.1: cannot open shared object file: No such file or directory", "libxcb.so.1"),
        ("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", "libGL.so.1"),
        ("ImportError: libstdc++.so.6: cannot open shared object file: No such file or directory", "libstdc++.so.6"),
        ("ModuleNotFoundError: No module named 'cv2'", None),
    ],
)
def test_a_missing_system_library_is_told_from_other_faults(error, library):
    assert setup.missing_library(error) == library


class PipRecorder:
    """Stands in for pip and for the import of OpenCV."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, import_errors: list[str | None]) -> None:
        self.calls: list[list[str]] = []
        monkeypatch.setattr(setup, "pip", lambda _environment, arguments, _fault: self.calls.append(arguments))
        monkeypatch.setattr(setup, "import_opencv", lambda _environment: import_errors.pop(0))


LACKING = "Traceback ...\nImportError: libxcb.so.1: cannot open shared object file: No such file or directory"


def test_opencv_that_works_is_left_alone(monkeypatch, tmp_path):
    recorder = PipRecorder(monkeypatch, [None])
    setup.make_opencv_work(tmp_path)
    assert recorder.calls == []


def test_the_headless_build_is_laid_over_opencv_in_the_same_version(monkeypatch, tmp_path, capsys):
    recorder = PipRecorder(monkeypatch, [LACKING, None])
    setup.make_opencv_work(tmp_path)
    (line,) = (setup.ROOT / "requirements.txt").read_text().split("opencv-python==")[1:]
    package = f"opencv-python-headless=={line.split()[0]}"
    assert recorder.calls == [["install", "--no-deps", "--force-reinstall", package]]
    assert capsys.readouterr().out == (
        f"This machine has no libxcb.so.1, which opencv-python needs: laying {package} over it\n"
    )


def test_opencv_that_fails_otherwise_is_an_error(monkeypatch, tmp_path):
    recorder = PipRecorder(monkeypatch, ["Traceback ...\nImportError: numpy.core.multiarray failed to import"])
    with pytest.raises(EnvironmentSetupError, match=r"ImportError: numpy\.core\.multiarray failed to import$"):
        setup.make_opencv_work(tmp_path)
    assert recorder.calls == []


def test_opencv_that_still_fails_under_the_headless_build_is_an_error(monkeypatch, tmp_path):
    PipRecorder(monkeypatch, [LACKING, LACKING.replace("libxcb.so.1", "libz.so.1")])
    with pytest.raises(EnvironmentSetupError, match=r"libz\.so\.1"):
        setup.make_opencv_work(tmp_path)


def test_without_the_index_for_tensorrt_cuda_is_set_up_all_the_same(monkeypatch, tmp_path, capsys):
    calls: list[list[str]] = []

    def pip(_environment: Path, arguments: list[str], fault: str) -> None:
        calls.append(arguments)
        if any("requirements-cuda.txt" in argument for argument in arguments):
            raise EnvironmentSetupError(fault)

    monkeypatch.setattr(setup, "pip", pip)
    setup.install(tmp_path, ["requirements.txt", "requirements-cuda.txt"])
    assert len(calls) == 2
    assert not any("tensorrt" in argument for argument in calls[1])
    assert any(argument.startswith("nvidia-cudnn-cu13==") for argument in calls[1])
    assert "pip install tensorrt-cu13-libs==10." in capsys.readouterr().out


def test_a_second_set_up_does_nothing_and_a_changed_list_is_installed(monkeypatch, tmp_path):
    installed: list[list[str]] = []
    root, environment = tmp_path / "root", tmp_path / "environment"
    root.mkdir()
    (root / "requirements.txt").write_text("numpy==1\n")
    monkeypatch.setattr(setup, "digests", lambda names, _root=None, digests=setup.digests: digests(names, root))
    monkeypatch.setattr(setup, "install", lambda _environment, names: installed.append(names))
    monkeypatch.setattr(setup, "make_opencv_work", lambda _environment: None)
    for _ in range(2):
        setup.set_up(environment, development=False, driver=None)
    assert installed == [["requirements.txt"]]
    (root / "requirements.txt").write_text("numpy==2\n")
    setup.set_up(environment, development=False, driver=None)
    assert installed == [["requirements.txt"]] * 2


def test_the_script_says_a_failure_in_one_line_and_ends_with_2(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    script = [sys.executable, setup.ROOT / "scripts/setup_environment.py", "--environment", tmp_path]
    answer = subprocess.run(script, capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert answer.stderr.startswith(f"set-up: {tmp_path} exists and is no virtual environment.")
    assert answer.stderr.count("\n") == 1
