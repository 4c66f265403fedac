#!/usr/bin/env python3
"""Make the virtual environment that FaceFusion runs in.

``python3 scripts/setup_environment.py`` needs nothing but Python: it finds an interpreter of a supported version, makes
the environment, installs the pinned packages (with those for an NVIDIA card where there is one), and sees to it that
OpenCV can be imported. A second call with the same requirements does nothing; one that was interrupted starts anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUN_REQUIREMENTS = "requirements.txt"
DEVELOPMENT_REQUIREMENTS = "requirements-dev.txt"
CUDA_REQUIREMENTS = "requirements-cuda.txt"
SERVICE_REQUIREMENTS = "requirements-service.txt"
SERVICE_DEVELOPMENT_REQUIREMENTS = "requirements-service-dev.txt"

SUPPORTED_VERSIONS = ((3, 11), (3, 12), (3, 13))
OLDEST_DRIVER = 580
"""First NVIDIA driver branch that runs CUDA 13 (NVIDIA, CUDA 13.0 release notes, table of driver versions)."""
LAST_CUDA_12_BUILD = "1.26.0"
"""Last onnxruntime-gpu on the package index that is built with CUDA 12."""

STAMP_NAME = "facefusion-setup.json"
UNFINISHED_NAME = "facefusion-setup.unfinished"

MISSING_LIBRARY = re.compile(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file")


class EnvironmentSetupError(Exception):
    """The environment cannot be made; the message says what to do."""


@dataclass(frozen=True)
class Interpreter:
    """A Python that was found on this machine."""

    command: tuple[str, ...]
    version: tuple[int, int]

    @property
    def supported(self) -> bool:
        """Whether FaceFusion runs on it."""
        return self.version in SUPPORTED_VERSIONS


def probe(command: tuple[str, ...]) -> Interpreter | None:
    """Ask an interpreter for its version; none where the command does not work."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run([*command, "-c", code], capture_output=True, text=True, check=True, timeout=60)
        major, minor = answer.stdout.split()
        return Interpreter(command, (int(major), int(minor)))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def interpreter_commands() -> list[tuple[str, ...]]:
    """Commands under which a Python may be had, the one that runs this script first, then newest first."""
    names = [f"{major}.{minor}" for major, minor in reversed(SUPPORTED_VERSIONS)]
    commands: list[tuple[str, ...]] = [(sys.executable,)]
    commands += [(found,) for name in names if (found := shutil.which(f"python{name}"))]
    if launcher := shutil.which("py"):
        commands += [(launcher, f"-{name}") for name in names]
    return commands


def choose_interpreter(found: list[Interpreter]) -> Interpreter:
    """Take the first one that FaceFusion runs on.

    Raises:
        EnvironmentSetupError: there is none.
    """
    for interpreter in found:
        if interpreter.supported:
            return interpreter
    seen = ", ".join(sorted({"{}.{}".format(*interpreter.version) for interpreter in found})) or "none"
    raise EnvironmentSetupError(
        f"FaceFusion needs Python 3.11, 3.12 or 3.13, and this machine has {seen}. Install one of them, for example "
        "`apt install python3.12 python3.12-venv` (Debian, Ubuntu), `brew install python@3.12` (macOS) or "
        "`winget install Python.Python.3.12` (Windows), and run this again."
    )


def venv_python(environment: Path) -> Path:
    """Path of the interpreter inside a virtual environment."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def is_usable(environment: Path) -> bool:
    """Whether an environment was made in full and has a supported Python."""
    python = venv_python(environment)
    if not python.exists() or (environment / UNFINISHED_NAME).exists():
        return False
    found = probe((str(python),))
    if found is None or not found.supported:
        return False
    if (environment / STAMP_NAME).exists():
        return True
    return subprocess.run([str(python), "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0


def create(environment: Path, interpreter: Interpreter) -> None:
    """Make an empty virtual environment with pip, in place of whatever lies there.

    Raises:
        EnvironmentSetupError: something that is not a virtual environment lies there, or Python's own parts for making
            one are missing.
    """
    if environment.exists() and any(environment.iterdir()) and not (environment / "pyvenv.cfg").exists():
        raise EnvironmentSetupError(
            f"{environment} exists and is no virtual environment. Move it away, or name another with --environment."
        )
    version = "{}.{}".format(*interpreter.version)
    parts = subprocess.run([*interpreter.command, "-c", "import ensurepip, venv"], capture_output=True, check=False)
    if parts.returncode != 0:
        raise EnvironmentSetupError(
            f"Python {version} ({interpreter.command[0]}) cannot make virtual environments. "
            f"Run `apt install python{version}-venv` (Debian, Ubuntu) and run this again."
        )
    print(f"Making {environment} with Python {version}", flush=True)
    run([*interpreter.command, "-m", "venv", "--clear", str(environment)], "The virtual environment could not be made")


def run(command: list[str], fault: str) -> None:
    """Run a command whose output the user sees.

    Raises:
        EnvironmentSetupError: it failed; ``fault`` begins the message.
    """
    status = subprocess.run(command, check=False).returncode
    if status != 0:
        raise EnvironmentSetupError(f"{fault} (status {status}, its output is above): {' '.join(command)}")


def pip(environment: Path, arguments: list[str], fault: str) -> None:
    """Run the environment's pip, with a progress display only where someone is watching."""
    quiet = [] if sys.stdout.isatty() else ["--quiet"]
    command = [str(venv_python(environment)), "-m", "pip", "--disable-pip-version-check", *arguments, *quiet]
    run(command, fault)


def driver_version() -> str | None:
    """Version of the NVIDIA driver, where there is a card that works and packages for this platform; else none."""
    if (platform.system(), platform.machine()) not in {("Linux", "x86_64"), ("Windows", "AMD64")}:
        return None
    if not (tool := shutil.which("nvidia-smi")):
        return None
    query = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        print("nvidia-smi is there and finds no card that works: setting up for the processor alone", flush=True)
        return None
    return answer.stdout.strip().splitlines()[0].strip() if answer.stdout.strip() else None


def old_driver_message(version: str) -> str | None:
    """What to tell the user of a driver that does not run CUDA 13; none where it does."""
    branch = version.split(".", maxsplit=1)[0]
    if branch.isdigit() and int(branch) >= OLDEST_DRIVER:
        return None
    return (
        f"The NVIDIA driver {version} is too old for CUDA 13: the card is not used. Update the driver to "
        f"{OLDEST_DRIVER} or newer and run this again, or keep it and install the last build for CUDA 12 with "
        f'`python -m pip install "onnxruntime-gpu[cuda,cudnn]=={LAST_CUDA_12_BUILD}"` in the environment.'
    )


def wanted_files(*, development: bool, driver: str | None, service: bool = False) -> list[str]:
    """Names of the requirement files to install."""
    names = [RUN_REQUIREMENTS]
    if driver is not None and old_driver_message(driver) is None:
        names.append(CUDA_REQUIREMENTS)
    if service:
        names.append(SERVICE_REQUIREMENTS)
    if development:
        names.append(DEVELOPMENT_REQUIREMENTS)
    if service and development:
        names.append(SERVICE_DEVELOPMENT_REQUIREMENTS)
    return names


def digests(names: list[str], root: Path = ROOT) -> dict[str, str]:
    """SHA-256 of each requirement file."""
    return {name: hashlib.sha256((root / name).read_bytes()).hexdigest() for name in names}


def read_stamp(environment: Path) -> dict[str, str]:
    """Digests of the requirement files that were installed last; empty where nothing was."""
    try:
        stamp = json.loads((environment / STAMP_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(digest) for name, digest in stamp.items()} if isinstance(stamp, dict) else {}


def without_tensorrt(requirements: str) -> list[str]:
    """The requirements in the text of a file, but for TensorRT and for what other files say."""
    lines = (line.split("#", maxsplit=1)[0].strip() for line in requirements.splitlines())
    return [line for line in lines if line and not line.startswith(("-", "tensorrt"))]


def install(environment: Path, names: list[str]) -> None:
    """Install requirement files together, so that one set of versions holds for all."""
    print(f"Installing {', '.join(names)}", flush=True)
    files = [argument for name in names if name != CUDA_REQUIREMENTS for argument in ("-r", str(ROOT / name))]
    fault = "The packages could not be installed"
    if CUDA_REQUIREMENTS not in names:
        pip(environment, ["install", *files], fault)
        return
    try:
        pip(environment, ["install", *files, "-r", str(ROOT / CUDA_REQUIREMENTS)], fault)
    except EnvironmentSetupError:
        print("Trying again without TensorRT, whose wheel lies on an index of NVIDIA's own", flush=True)
        rest = without_tensorrt((ROOT / CUDA_REQUIREMENTS).read_text(encoding="utf-8"))
        pip(environment, ["install", *files, *rest], fault)
        print(
            "CUDA is set up, TensorRT is not: --execution-providers tensorrt is not available until you run "
            f"`{venv_python(environment)} -m pip install {pinned(CUDA_REQUIREMENTS, 'tensorrt-cu13-libs')}`",
            flush=True,
        )


def missing_library(import_error: str) -> str | None:
    """Name of the system library that an import failed for; none where it failed for another reason."""
    match = MISSING_LIBRARY.search(import_error)
    return match.group(1) if match else None


def pinned(name: str, package: str) -> str:
    """The line of a requirement file that pins a package: ``package==version``."""
    match = re.search(rf"^{re.escape(package)}==[\w.]+", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        raise EnvironmentSetupError(f"{name} does not pin {package}.")
    return match.group()


def import_opencv(environment: Path) -> str | None:
    """Import OpenCV in the environment; what Python wrote where that failed, none where it worked."""
    command = [str(venv_python(environment)), "-c", "import cv2"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if answer.returncode == 0 else answer.stderr.strip()


def make_opencv_work(environment: Path) -> None:
    """Lay the build of OpenCV without windows over the full one, where that lacks a system library.

    Raises:
        EnvironmentSetupError: OpenCV cannot be imported for another reason, or still not.
    """
    error = import_opencv(environment)
    if error is None:
        return
    if library := missing_library(error):
        package = pinned(RUN_REQUIREMENTS, "opencv-python").replace("opencv-python", "opencv-python-headless")
        print(f"This machine has no {library}, which opencv-python needs: laying {package} over it", flush=True)
        pip(environment, ["install", "--no-deps", "--force-reinstall", package], f"{package} could not be installed")
        error = import_opencv(environment)
    if error is not None:
        raise EnvironmentSetupError(f"OpenCV cannot be imported in {environment}: {error.splitlines()[-1]}")


def set_up(environment: Path, *, development: bool, driver: str | None, service: bool = False) -> None:
    """Bring the environment to what the requirement files say; quick where it is there already.

    Args:
        environment: its folder.
        development: with the tools for tests and checks.
        driver: version of the NVIDIA driver to set up for; none for the processor alone.
        service: with what the API and the workers of a fleet need.
    """
    names = wanted_files(development=development, driver=driver, service=service)
    wanted = digests(names)
    usable = is_usable(environment)
    installed = read_stamp(environment) if usable else {}
    if wanted.items() <= installed.items():
        return
    if driver is not None and (message := old_driver_message(driver)):
        print(message, flush=True)
    if not usable:
        found = [found for command in interpreter_commands() if (found := probe(command))]
        create(environment, choose_interpreter(found))
    unfinished = environment / UNFINISHED_NAME
    unfinished.touch()
    install(environment, names)
    make_opencv_work(environment)
    current = {name: digest for name, digest in installed.items() if digests([name]) == {name: digest}}
    (environment / STAMP_NAME).write_text(json.dumps({**current, **wanted}, indent=2), encoding="utf-8")
    unfinished.unlink()
    print(f"{environment} is ready", flush=True)


def main() -> int:
    """Set up and say in one line what failed; returns the exit status."""
    parser = argparse.ArgumentParser(description="Make the virtual environment that FaceFusion runs in.")
    parser.add_argument("--environment", type=Path, default=ROOT / ".venv", help="its folder (default: %(default)s)")
    parser.add_argument("--development", action="store_true", help="with the tools for tests and checks")
    parser.add_argument("--service", action="store_true", help="with what the API and the workers of a fleet need")
    parser.add_argument(
        "--cuda", action="store_true", help="for an NVIDIA card that is not in this machine, as when an image is built"
    )
    arguments = parser.parse_args()
    driver = str(OLDEST_DRIVER) if arguments.cuda else driver_version()
    try:
        set_up(arguments.environment, development=arguments.development, driver=driver, service=arguments.service)
    except EnvironmentSetupError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
