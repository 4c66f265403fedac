"""The imperceptible watermark, through TrustMark, a package that is not among those of the program.

T. Bui, S. Agarwal, J. Collomosse, "TrustMark: Universal Watermarking for Arbitrary Resolution Images", 2023.
Its networks come as files that the package fetches by itself where they are missing. Here it never gets so far: without
files of the right content nothing of it is loaded.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from PIL import Image

from facefusion.core.errors import SetupError
from facefusion.core.values import Picture, Pixels, Size

Levels: TypeAlias = npt.NDArray[np.uint8]
"""Height x width x 3, red, green and blue, 0..255."""

PACKAGE = "trustmark"
INSTALL = "Run `python -m pip install -r requirements-watermark.txt`."

VARIANT = "Q"
"""The one of its authors' paper: between the most robust and the least visible."""
FILES = (f"trustmark_{VARIANT}.yaml", f"encoder_{VARIANT}.ckpt", f"decoder_{VARIANT}.ckpt")

PAYLOAD = "FaceFusn"
"""What is written: as much as TrustMark holds with its usual error correction, 61 bits, in letters of 7."""


class Watermarker(Protocol):
    """Writes and reads watermarks. Thread-safe."""

    def written(self, levels: Levels, text: str) -> Levels:
        """A picture that carries a text and looks the same."""

    def read(self, levels: Levels) -> str | None:
        """The text that a picture carries; none where it carries none."""


class Watermark:
    """Lays the program's watermark over frames, as a label that nobody sees.

    Args:
        marker: writes it.
    """

    def __init__(self, marker: Watermarker) -> None:
        self._marker = marker

    def check(self, size: Size) -> None:
        """Every size has room."""

    def over(self, picture: Picture) -> Picture:
        """A picture with the watermark in it. What it adds is worked out at 8 bits and added at the picture's depth."""
        before = np.ascontiguousarray(picture.to_bgr()[..., ::-1]).astype(np.uint8, copy=False)
        added = self._marker.written(before, PAYLOAD).astype(np.float32) - before
        exact = picture.to_bgr(as_float=True)
        return picture.replaced_by(cast("Pixels", np.clip(exact + added[..., ::-1], 0, 255).astype(np.float32)))


class TrustMark:
    """TrustMark on the processor, one picture at a time.

    Args:
        package: the module.
    """

    def __init__(self, package: Any) -> None:  # noqa: ANN401 - it comes without types, and may be missing
        self._lock = threading.Lock()
        self._networks = package.TrustMark(verbose=False, model_type=VARIANT, loadRemover=False, device="cpu")

    def written(self, levels: Levels, text: str) -> Levels:
        """See :class:`Watermarker`."""
        with self._lock:
            return np.asarray(self._networks.encode(Image.fromarray(levels), text), np.uint8)

    def read(self, levels: Levels) -> str | None:
        """See :class:`Watermarker`."""
        with self._lock:
            text, is_there, _ = self._networks.decode(Image.fromarray(levels))
        return str(text) if is_there else None


def open_watermarker() -> Watermarker:
    """TrustMark, as it is installed.

    Raises:
        SetupError: it is not, or its networks are not there; the message says what to do.
    """
    if importlib.util.find_spec(PACKAGE) is None:
        raise SetupError("--watermark: the package trustmark is not installed", INSTALL)
    package = importlib.import_module(PACKAGE)
    inner = importlib.import_module(f"{PACKAGE}.trustmark")
    folder = Path(str(inner.__file__)).parent / "models"
    if missing := _missing(folder, inner.MODEL_CHECKSUMS):
        raise SetupError(
            f"--watermark: {', '.join(missing)} of TrustMark are not in {folder}, or are not what they should be",
            f"Fetch them from {inner.MODEL_REMOTE_HOST} and put them there; this program does not.",
        )
    return TrustMark(package)


def installed_watermarker() -> Watermarker | None:
    """The same, or none where it cannot be had."""
    try:
        return open_watermarker()
    except SetupError:
        return None


def _missing(folder: Path, checksums: Mapping[str, str]) -> list[str]:
    """Files that are not there, or whose MD5 is not the one that the package names."""
    return [name for name in FILES if _md5(folder / name) != checksums[name]]


def _md5(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
