"""Hashes of the files that pip would fetch for the container's image, as the package index tells them."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from scripts.supply.pins import PLAIN, ROOT, SERVICE, Pin, pins

PYTHON = "3.12"
"""Of the image's base; a test holds the Dockerfile against it."""
MACHINES = ("x86_64", "aarch64")
GLIBC = range(39, 4, -1)
"""Minor versions of glibc 2 whose wheels run on the image's base, the newest first: Ubuntu 24.04 has 2.39."""
FOLDER = Path("deploy/container")

Hashes = Mapping[str, set[str]]
"""SHA-256 of each file, by the package's name."""


@dataclass(frozen=True, slots=True)
class HashedList:
    """One list of the image: pip takes no file that is not in it."""

    path: Path
    purpose: str
    packages: tuple[Pin, ...]


def hashed_lists() -> tuple[HashedList, ...]:
    """All of the image's lists.

    TensorRT is in none: its package is but a few lines that fetch the library from NVIDIA's own index, which a hash of
    those lines says nothing about.
    """
    plain = {pin.key: pin for pin in pins(PLAIN)}
    needed = [pin for pin in (*pins(PLAIN), *pins(SERVICE)) if any(_is_needed(pin, machine) for machine in MACHINES)]
    cpu = Pin("onnxruntime", plain["onnxruntime"].version, f"onnxruntime=={plain['onnxruntime'].version}")
    return (
        HashedList(FOLDER / "requirements.txt", "the program and its service", tuple(needed)),
        HashedList(FOLDER / "requirements-cpu.txt", "an image without a card", (cpu,)),
    )


def text_of(one: HashedList, hashes: Hashes) -> str:
    """A list as pip takes it. It names no place that a package comes from."""
    lines = [
        f"# Pins and hashes for {one.purpose}: what the image installs, and no other file of these names.",
        "# Written by scripts/make_image_requirements.py; do not edit.",
    ]
    for pin in sorted(one.packages, key=lambda pin: pin.key):
        words = (pin.line, *(f"--hash=sha256:{digest}" for digest in sorted(hashes[pin.key])))
        lines.append(" \\\n    ".join(words))
    return "\n".join((*lines, ""))


def hashes_of(one: HashedList) -> Hashes:
    """Ask pip which files it would take on each machine of the image.

    Raises:
        subprocess.CalledProcessError: a package cannot be had.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for machine in MACHINES:
        packages = [pin for pin in one.packages if _is_needed(pin, machine)]
        for name, digest in _told(packages, machine):
            found[name].add(digest)
    return found


def _is_needed(pin: Pin, machine: str) -> bool:
    return pin.applies("linux", machine, PYTHON)


def _told(packages: Iterable[Pin], machine: str) -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        report, asked = Path(folder) / "report.json", Path(folder) / "asked.txt"
        # Markers are of this machine here, and were asked for that one before.
        asked.write_text("".join(f"{pin.name}=={pin.version}\n" for pin in packages), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps"]
        command += ["--report", str(report), "--requirement", str(asked)]
        command += ["--target", str(Path(folder) / "nowhere"), "--only-binary", ":all:", "--python-version", PYTHON]
        command += ["--implementation", "cp"]
        command += [word for minor in GLIBC for word in ("--platform", f"manylinux_2_{minor}_{machine}")]
        subprocess.run(command, cwd=ROOT, check=True)
        table = json.loads(report.read_text(encoding="utf-8"))
    return [
        (canonicalize_name(entry["metadata"]["name"]), entry["download_info"]["archive_info"]["hashes"]["sha256"])
        for entry in table["install"]
    ]
