"""Look for the packages that nothing works without, before anything imports them.

Imports the standard library and the errors only, so it can run, and speak clearly, where the rest cannot.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module, metadata
from importlib.util import find_spec

from facefusion.core.errors import SetupError

REQUIRED_MODULES = (
    "av",
    "c2pa",
    "cryptography",
    "cv2",
    "filelock",
    "numpy",
    "onnx",
    "onnxruntime",
    "PIL",
    "psutil",
    "shtab",
    "tqdm",
)

_NO_ROOM = re.compile(r"failed to map segment|cannot map zero-fill pages|cannot allocate memory", re.IGNORECASE)
"""What the loader of libraries says, as in glibc's ``elf/dl-load.c``, where memory or a right is lacking."""

_MISSING_LIBRARY = re.compile(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file")


def check_requirements() -> None:
    """Make sure that every package is installed and that OpenCV, the only one to need more of the system, loads.

    Raises:
        SetupError: one is missing or does not load; the message ends with the command that mends it.
    """
    missing = [name for name in REQUIRED_MODULES if find_spec(name) is None]
    if missing:
        raise SetupError(
            f"Packages are missing from {sys.prefix}: {', '.join(missing)}",
            f"Run: {sys.executable} -m pip install -r requirements.txt",
        )
    try:
        import_module("cv2")
    except ImportError as error:
        raise opencv_error(error, opencv_version()) from error


def room_error(error: ImportError | str) -> SetupError | None:
    """The error to show where a library is whole and the system does not let this process load it; none elsewhere.

    Args:
        error: what the import raised, or its message.
    """
    if _NO_ROOM.search(str(error)) is None:
        return None
    return SetupError(
        f"A library cannot be loaded: {error}",
        "The system gives this process too little memory, or forbids to execute what lies in that folder: "
        "raise its limits (ulimit -v, ulimit -d, the container's), or mount the folder without noexec.",
    )


def opencv_version() -> str | None:
    """Version of the installed opencv-python; none where another package brings ``cv2``."""
    try:
        return metadata.version("opencv-python")
    except metadata.PackageNotFoundError:
        return None


def opencv_error(error: ImportError | str, version: str | None) -> SetupError:
    """The error to show for a failed import of OpenCV, with the command that mends it.

    Args:
        error: what the import raised, or its message.
        version: of opencv-python, so that the build without windows is laid over it in the same version.
    """
    if no_room := room_error(error):
        return no_room
    package = f"opencv-python-headless=={version}" if version else "opencv-python-headless"
    command = f"{sys.executable} -m pip install --no-deps --force-reinstall {package}"
    if library := _MISSING_LIBRARY.search(str(error)):
        return SetupError(f"OpenCV needs {library.group(1)}, which this system lacks", f"Run: {command}")
    return SetupError(f"OpenCV cannot be loaded: {error}", f"Run: {command}")
