"""Where the program looks for its own files, and keeps them."""

from __future__ import annotations

from pathlib import Path

from facefusion.core.home import caches_folder, home_folder, own_models


def model_folders(models_path: Path | None) -> tuple[Path, ...]:
    """Where models are looked for; the first is where new ones go.

    ``models/`` of the program, the folder that the user names (first, where one is named), and the places where
    FaceFusion kept them.
    """
    home = home_folder()
    own = (own_models(), home / ".assets" / "models", Path.cwd() / ".assets" / "models")
    folders = own if models_path is None else (models_path, *own)
    return tuple(dict.fromkeys(folders))


def graphs_folder() -> Path:
    """Where graphs are kept as ONNX Runtime optimised them."""
    return caches_folder() / "graphs"
