"""The bill of materials: packages and models as components of CycloneDX (ECMA-424)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name

from facefusion import __version__
from facefusion.catalogue.card import ModelCard, Part
from scripts.supply.licences import Declared, stated
from scripts.supply.pins import Pin

SCHEMA = SchemaVersion.V1_6

Table = dict[str, Any]
"""A part of the document."""


def bill(packages: Iterable[Pin], cards: Iterable[ModelCard], declared: Declared) -> Table:
    """The document; the same for the same pins and catalogue.

    Raises:
        subprocess.CalledProcessError: cyclonedx-py cannot make the part of the packages.
    """
    document = _of_packages(packages)
    program = {"type": "application", "bom-ref": "facefusion", "name": "facefusion", "version": __version__}
    document["metadata"]["component"] = program
    components: list[Table] = document["components"]
    for component in components:
        component["licenses"] = _licences(declared.licences[canonicalize_name(component["name"])])
    components.extend(component for card in cards for component in _of_model(card))
    return document


def faults(document: Mapping[str, Any]) -> str:
    """What the document lacks to be one of CycloneDX; empty where nothing."""
    found = JsonStrictValidator(SCHEMA).validate_str(json.dumps(document))
    return "" if found is None else str(found)


def _of_packages(packages: Iterable[Pin]) -> Table:
    """What cyclonedx-py says of the packages."""
    command = [sys.executable, "-m", "cyclonedx_py", "requirements", "-", "--of", "JSON", "--output-reproducible"]
    command += ["--spec-version", SCHEMA.to_version()]
    lines = "".join(f"{pin.line}\n" for pin in packages)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    document: Table = json.loads(done.stdout)
    return document


def _of_model(card: ModelCard) -> Iterator[Table]:
    """A model, and beside it the files that it is made from."""
    if card.graph is None:
        return
    reference, graph = f"model/{card.kind}/{card.name}", card.graph
    component: Table = {
        "type": "machine-learning-model",
        "bom-ref": reference,
        "supplier": {"name": card.vendor},
        "name": card.name,
        "version": str(card.year),
        "description": card.origin,
        "licenses": _licences(card.licence),
        "properties": [_property("kind", card.kind), _property("file", graph.name)],
    }
    if graph.parts:
        component["components"] = [_of_part(reference, part) for part in graph.parts]
    yield component


def _of_part(reference: str, part: Part) -> Table:
    """A file that a model is made from, with the package that brings it."""
    brought = [] if part.wheel is None else [_property("package", part.wheel.requirement)]
    return {
        "type": "file",
        "bom-ref": f"{reference}/{part.role}",
        "name": part.member or part.role,
        "hashes": [{"alg": "SHA-256", "content": part.sha256}],
        "properties": [_property("role", part.role), *brought],
    }


def _property(name: str, value: str) -> Table:
    return {"name": f"facefusion:{name}", "value": value}


def _licences(words: str) -> list[Table]:
    expression = stated(words)
    return [{"license": {"name": words}}] if expression is None else [{"expression": expression}]
