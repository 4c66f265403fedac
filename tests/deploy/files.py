"""The files that FaceFusion is deployed with, as data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = ROOT / "docker-compose.yml"
OVERRIDE = DEPLOY / "compose.tmpfs.yml"
MACHINES = DEPLOY / "compose.machines.yml"
IN_A_BUCKET = DEPLOY / "compose.bucket.yml"
COMPOSE_FILES = (COMPOSE, OVERRIDE, MACHINES, IN_A_BUCKET)
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
OWN_IMAGE = "facefusion:"

PLACEHOLDER = re.compile(r"(?<!\$)\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\}")
"""``${NAME}``, ``${NAME:-default}`` and ``${NAME:?message}`` of Compose."""


def text(path: Path | str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def filled_in(source: str) -> str:
    """Compose's text as it is read with nothing set: defaults in place, secrets as words."""

    def value(match: re.Match[str]) -> str:
        return match["rest"] if match["kind"] == "-" else f"some-{match['name'].lower()}"

    return PLACEHOLDER.sub(value, source)


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(filled_in(text(COMPOSE)))
    return loaded


def own_services() -> dict[str, dict[str, Any]]:
    """Services that run the program."""
    return {name: it for name, it in compose()["services"].items() if it["image"].startswith(OWN_IMAGE)}


def manifests() -> list[dict[str, Any]]:
    return [document for path in MANIFESTS for document in yaml.safe_load_all(text(path))]


def manifest(kind: str, name: str) -> dict[str, Any]:
    (found,) = [it for it in manifests() if (it["kind"], it["metadata"]["name"]) == (kind, name)]
    return found


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and specification of each template of pods."""
    for it in manifests():
        if it["kind"] in ("Deployment", "StatefulSet"):
            yield it["metadata"]["name"], it["spec"]["template"]["spec"]


def instructions() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile and what follows each, lines joined."""
    lines = [line for line in text("Dockerfile").splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def of(word: str) -> list[str]:
    """What follows each instruction of that name."""
    return [rest for found, rest in instructions() if found == word]


def variables_of_image() -> dict[str, str]:
    """Variables that the Dockerfile sets."""
    return {name: value for rest in of("ENV") for name, value in re.findall(r"(\w+)=(\S+)", rest)}


def made_folders() -> set[str]:
    """Folders of the image that the program's user may write to."""
    (made,) = re.findall(r"install -d -o facefusion -g facefusion ([^&]+)", " ".join(of("RUN")))
    return {f"/app/{name}" for name in made.split()}
