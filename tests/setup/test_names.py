"""A model is known by its entry in the catalogue, and to no code by its name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from facefusion.catalogue.catalogue import Catalogue

ROOT = Path(__file__).parents[2] / "facefusion"
WORDS = {"many", "mesh"}
"""Names that are words of the language too, and only as a whole text may mean a model."""
ALLOWED = {
    # The selector's mode of that name.
    ("faces/selection.py", "many"),
    ("faces/settings.py", "many"),
}
OF_FACEFUSION = {"facefusion_default", "former_defaults", "value_aliases"}
"""What an option's declaration says of other programs' files."""


def texts(tree: ast.AST) -> Iterator[str]:
    """All texts of a module but its docstrings, what it says of FaceFusion, and the keys of tables of families."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.keyword) and node.arg in OF_FACEFUSION:
            continue
        if isinstance(node, ast.AnnAssign | ast.Assign) and isinstance(node.value, ast.Dict) and _names_families(node):
            for value in node.value.values:
                yield from texts(value)
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        yield from texts(node)


def _names_families(node: ast.AnnAssign | ast.Assign) -> bool:
    """Whether a table goes from the names of families to what runs them: its values are no plain texts or numbers."""
    assert isinstance(node.value, ast.Dict)
    return not any(isinstance(value, ast.Constant | ast.Tuple) for value in node.value.values)


def test_no_code_but_the_catalogue_names_a_model() -> None:
    catalogue = Catalogue.load()
    names = {name for kind in catalogue.kinds for name in catalogue.choices(kind)}
    exact = "|".join(map(re.escape, sorted(names - WORDS, key=len, reverse=True)))
    found = set()
    for path in ROOT.rglob("*.py"):
        place = path.relative_to(ROOT).as_posix()
        if place.startswith("catalogue/"):
            continue
        for text in texts(ast.parse(path.read_text(encoding="utf-8"))):
            if text in WORDS:
                found.add((place, text))
            found |= {(place, name) for name in re.findall(rf"(?<![\w.])(?:{exact})(?![\w])", text)}
    assert found == ALLOWED, sorted(found ^ ALLOWED)


def test_a_name_in_code_is_seen() -> None:
    module = """
def f(card):
    'Of sface.'
    return card.name == "inswapper_128"

SIZES = {"scrfd": (1, 2)}
FAMILIES = {"sface": SFace}
"""
    assert list(texts(ast.parse(module))) == ["inswapper_128", "scrfd"]
