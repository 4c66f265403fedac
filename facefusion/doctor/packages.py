"""Python and the packages: what is installed, what the lists of requirements pin, and what can be imported."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata

from facefusion.core.home import PACKAGE_PARENT
from facefusion.doctor.examination import Examination
from facefusion.doctor.finding import Finding, fault, note, ok, warning
from facefusion.doctor.pip import REQUIREMENTS, install, uninstall
from facefusion.doctor.requirements import REQUIRED_MODULES, opencv_error, opencv_version
from facefusion.doctor.trial import try_imports

TOPIC = "package"

SUPPORTED_PYTHONS = ((3, 11), (3, 12), (3, 13))

RUNTIME = "onnxruntime"
"""Module that several packages bring, each with other execution providers."""

PACKAGE_OF_MODULE = {"c2pa": "c2pa-python", "cv2": "opencv-python", "PIL": "pillow"}
"""Where a module's name is not its package's."""

_NAME = re.compile(r"[-_.]+")


@dataclass(frozen=True, slots=True)
class Pin:
    """A package that a list of requirements names for this machine."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Environment:
    """What is installed."""

    versions: Mapping[str, str]
    """Version of each package, by its normal name."""
    owners: Mapping[str, Sequence[str]]
    """Packages that bring each module."""

    @classmethod
    def read(cls) -> Environment:
        """Look at the packages that this Python finds."""
        found = {normal(dist.metadata["Name"] or ""): dist.version for dist in metadata.distributions()}
        return cls(found, metadata.packages_distributions())

    def owners_of(self, module: str) -> tuple[str, ...]:
        """Packages that bring a module, each once."""
        return tuple(sorted({normal(name) for name in self.owners.get(module, ())}))


def findings(examination: Examination) -> Iterator[Finding]:
    """Look at Python, at the versions of packages, and import those that nothing works without."""
    yield python_finding(sys.version_info[:2])
    environment = Environment.read()
    faults = try_imports(REQUIRED_MODULES)
    examination.broken.update(name for name, wrong in faults.items() if wrong)
    yield from import_findings(faults)
    yield from version_findings(required_lines(), environment, faults)
    yield from shadow_findings(environment)


def python_finding(version: tuple[int, int]) -> Finding:
    """Whether this Python is one that the packages are pinned for."""
    text = f"Python {platform.python_version()} ({sys.executable}) on {platform.platform()}"
    if version in SUPPORTED_PYTHONS:
        return ok("python", text)
    names = ", ".join(f"{major}.{minor}" for major, minor in SUPPORTED_PYTHONS)
    return warning("python", f"{text}, which the packages are not pinned for", f"Use one of Python {names}.")


def import_findings(faults: Mapping[str, str]) -> Iterator[Finding]:
    """What came of importing modules: see :func:`facefusion.doctor.trial.try_imports`."""
    loaded = [name for name, wrong in faults.items() if not wrong]
    if loaded:
        yield ok(TOPIC, f"{', '.join(loaded)} can be imported")
    for name, wrong in faults.items():
        if not wrong:
            continue
        if name == "cv2" and not wrong.startswith("ModuleNotFoundError"):
            error = opencv_error(wrong.partition(": ")[2] or wrong, opencv_version())
            yield fault(TOPIC, error.fault, error.remedy)
            continue
        package = _package_of(name)
        missing = wrong.endswith(f"No module named '{name}'")
        text = f"{package} is not installed" if missing else f"{name} cannot be imported: {wrong}"
        yield fault(TOPIC, text, _install(package))


def required_lines() -> tuple[str, ...]:
    """The requirements of this program: of its list beside it, or of its installed package."""
    path = PACKAGE_PARENT / REQUIREMENTS
    if path.is_file():
        return tuple(path.read_text(encoding="utf-8").splitlines())
    try:
        return tuple(metadata.requires("facefusion") or ())
    except metadata.PackageNotFoundError:
        return ()


def version_findings(lines: Iterable[str], environment: Environment, faults: Mapping[str, str]) -> Iterator[Finding]:
    """Compare what is installed with what is pinned.

    Args:
        lines: of a list of requirements.
        environment: what is installed.
        faults: what came of importing modules; a package that is missing is not told twice.
    """
    try:
        pins = read_pins(lines)
    except ImportError:
        yield warning(TOPIC, "packaging is missing, so no versions are compared", _install("packaging"))
        return
    if not pins:
        yield note(TOPIC, f"there is no {REQUIREMENTS} to compare versions with")
        return
    differing = [pin for pin in pins if environment.versions.get(pin.name) != pin.version]
    yield ok(TOPIC, f"{len(pins) - len(differing)} of {len(pins)} packages are as {REQUIREMENTS} pins them")
    told = {_package_of(name) for name, wrong in faults.items() if wrong}
    for pin in differing:
        if pin.name in environment.versions or pin.name not in told:
            yield _difference(pin, environment, faults)


def _difference(pin: Pin, environment: Environment, faults: Mapping[str, str]) -> Finding:
    wanted = f"{pin.name} {pin.version}"
    there = environment.versions.get(pin.name)
    if there is not None:
        return warning(
            TOPIC, f"{pin.name} {there} is installed, and {REQUIREMENTS} pins {pin.version}", _install(pin.name)
        )
    others = environment.owners_of(RUNTIME) if pin.name.startswith(RUNTIME) else ()
    if others and not faults.get(RUNTIME):
        names = ", ".join(f"{name} {environment.versions.get(name, '')}".strip() for name in others)
        # Another build, chosen for its providers; the pinned version is what was tested.
        level = note if all(environment.versions.get(name) == pin.version for name in others) else warning
        return level(TOPIC, f"{names} stands in the place of {wanted}", _replace(others))
    return warning(TOPIC, f"{wanted} is not installed", _install(pin.name))


def shadow_findings(environment: Environment) -> Iterator[Finding]:
    """Say where several builds of ONNX Runtime lie over each other; the last one installed hides the others."""
    builds = environment.owners_of(RUNTIME)
    if len(builds) > 1:
        names = " and ".join(f"{name} {environment.versions.get(name, '')}".strip() for name in builds)
        text = f"{names} overwrite each other's files, so execution providers of one of them are hidden"
        yield warning(TOPIC, text, _replace(builds))


def read_pins(lines: Iterable[str]) -> tuple[Pin, ...]:
    """The packages that a list of requirements pins for this machine.

    Raises:
        ImportError: the package that reads requirements is missing.
    """
    from packaging.requirements import Requirement  # noqa: PLC0415 - may be missing, which is a finding

    pins = []
    for line in lines:
        text = line.partition(" #")[0].strip()
        if not text or text[0] in "#-":
            continue
        requirement = Requirement(text)
        exact = [spec.version for spec in requirement.specifier if spec.operator == "=="]
        if exact and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
            pins.append(Pin(normal(requirement.name), exact[0]))
    return tuple(pins)


def _package_of(module: str) -> str:
    return PACKAGE_OF_MODULE.get(module, module)


def normal(name: str) -> str:
    """A package's name as the package index compares it."""
    return _NAME.sub("-", name).lower()


def _install(package: str) -> str:
    return f"Run: {install(package)}"


def _replace(builds: Sequence[str]) -> str:
    return f"For the pinned one alone run: {uninstall(builds)}; then {install(RUNTIME)}"
