"""Where the program keeps its own files."""

from __future__ import annotations

from pathlib import Path

PACKAGE_PARENT = Path(__file__).resolve().parents[2]
"""The folder that the package lies in."""


def home_folder() -> Path:
    """The checkout that the program runs from; for a program installed as a package, a folder in the user's home."""
    if (PACKAGE_PARENT / "facefusion.py").is_file():
        return PACKAGE_PARENT
    return Path.home() / ".facefusion"


def own_models() -> Path:
    """The program's own folder of models, which is always looked into."""
    return home_folder() / "models"


def caches_folder() -> Path:
    """Where the program keeps what it can make again: compiled engines, prepared graphs, checksums."""
    return home_folder() / ".caches"
