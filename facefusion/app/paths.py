"""Where the program keeps its own files."""

from __future__ import annotations

from pathlib import Path

PACKAGE_PARENT = Path(__file__).resolve().parents[2]


def home_folder() -> Path:
    """The checkout that the program runs from; for a program installed as a package, a folder in the user's home."""
    if (PACKAGE_PARENT / "facefusion.py").is_file():
        return PACKAGE_PARENT
    return Path.home() / ".facefusion"


def model_folders(models_path: Path | None) -> tuple[Path, ...]:
    """Where models are looked for; the first is where new ones go.

    ``models/`` of the program, the folder that the user names (first, where one is named), and the places where
    FaceFusion kept them.
    """
    home = home_folder()
    own = (home / "models", home / ".assets" / "models", Path.cwd() / ".assets" / "models")
    folders = own if models_path is None else (models_path, *own)
    return tuple(dict.fromkeys(folders))


def caches_folder() -> Path:
    """Where compiled engines are kept."""
    return home_folder() / ".caches"
