"""Commands that install what is missing, into the Python that runs this program."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from facefusion.core.home import PACKAGE_PARENT

REQUIREMENTS = "requirements.txt"
CUDA_REQUIREMENTS = "requirements-cuda.txt"

PIP = f"{sys.executable} -m pip"


def install(package: str, requirements: str = REQUIREMENTS) -> str:
    """The command that brings a package in its pinned version.

    Args:
        package: its name.
        requirements: the list that pins it; where that is not beside the program, the package is named by itself.
    """
    path = PACKAGE_PARENT / requirements
    return f"{PIP} install {f'-r {path}' if path.is_file() else package}"


def uninstall(packages: Sequence[str]) -> str:
    """The command that removes packages."""
    return f"{PIP} uninstall -y {' '.join(packages)}"
