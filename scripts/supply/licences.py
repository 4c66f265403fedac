"""The licence of each package and model, whether what is passed on may be, and the page that tells."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from facefusion.catalogue.card import ModelCard
from scripts.supply.pins import RUNTIME, Pin, pins

DECLARED = Path(__file__).with_name("licences.toml")
PAGE = Path("docs/licences.md")

FREE = frozenset({
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CC-BY-4.0", "HPND", "ISC", "MIT", "MIT-0",
    "MIT-CMU", "PSF-2.0", "Unlicense", "Zlib",
})  # fmt: skip
"""SPDX identifiers of licences that let anybody pass on what they cover, changed or not, within a larger work."""
SHARED = frozenset({"GPL-3.0-only"})
"""Those that let anybody use a model that is fetched, and pass it on under the same licence."""

HEAD = """# Licences

<!-- Written by scripts/make_licences.py; do not edit. -->

The licence of each package that the lists of requirements pin, and of each model of the catalogue, by SPDX identifier.
This repository passes none of them on: pip fetches the packages, and the program the models. Who passes on an image or
an environment passes on what is in it; `NOTICE` tells what the wheels hold beside their own code."""

Metadata = Callable[[Pin], str | None]
"""The licence that an installed package states of itself: an SPDX expression, or none."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What is known of the packages' licences."""

    licences: Mapping[str, str]
    """SPDX expression by package."""
    remarks: Mapping[str, str]
    """Why one may be used that does not let everybody pass it on freely, by package."""


def read_declared(path: Path = DECLARED) -> Declared:
    """What the file beside this module says."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return Declared(table["licences"], table["remarks"])


def is_free(expression: str) -> bool:
    """Whether a licence lets anybody pass on what it covers: one side of each ``OR`` does, and both of each ``AND``."""
    return any(all(part.strip("() ") in FREE for part in side.split(" AND ")) for side in expression.split(" OR "))


def stated(words: str | None) -> str | None:
    """An SPDX expression as packages state it, in the one way to write it; none where it is something else."""
    try:
        return None if words is None else str(canonicalize_license_expression(words))
    except InvalidLicenseExpression:
        return None


def package_faults(declared: Declared, packages: Iterable[Pin], metadata: Metadata) -> Iterator[str]:
    """What is not in order with the packages' licences, a line each."""
    pinned = {pin.key: pin for pin in packages}
    for name, pin in sorted(pinned.items()):
        licence = declared.licences.get(name)
        if licence is None:
            yield f"{name} has no line in {DECLARED.name}: look its licence up and write it there"
            continue
        says = stated(metadata(pin))
        if says is not None and says != licence:
            yield f"{name} states {says}, not {licence} as {DECLARED.name} says: look what changed"
        if not is_free(licence) and name not in declared.remarks:
            yield f"{name} is under {licence}, which needs a line among the remarks of {DECLARED.name}"
    for name in sorted({*declared.licences, *declared.remarks} - pinned.keys()):
        yield f"{name} has a line in {DECLARED.name}, but nothing pins it any more"


def model_faults(cards: Iterable[ModelCard]) -> Iterator[str]:
    """What is not in order with the models' licences, a line each. Those that come with packages lie in the image."""
    for card in cards:
        if card.graph is None:
            continue
        if card.embedded and not is_free(card.licence):
            yield f"the model {card.name} is in the image, but under {card.licence}, which does not let it be passed on"
        if not is_free(card.licence) and card.licence not in SHARED and not card.terms:
            yield f"the model {card.name} is under {card.licence}: its entry in the catalogue has to tell its terms"


def page(declared: Declared, cards: Iterable[ModelCard]) -> str:
    """The list of licences, as Markdown."""
    return "\n".join((HEAD, *_packages(declared), *_models(cards), ""))


def _packages(declared: Declared) -> Iterator[str]:
    for name, purpose in RUNTIME.items():
        yield from ("", f"## Packages for {purpose} (`{name}`)", "")
        yield from ("| Package | Version | Licence | Remark |", "|---|---|---|---|")
        for pin in sorted(pins(name), key=lambda pin: pin.key):
            remark = declared.remarks.get(pin.key, "")
            yield f"| {pin.name} | {pin.version} | {declared.licences.get(pin.key, 'unknown')} | {remark} |"


def _models(cards: Iterable[ModelCard]) -> Iterator[str]:
    yield from ("", "## Models", "", "In the image are those that come with packages.", "")
    yield from ("| Model | Kind | Maker | Licence | In the image | Remark |", "|---|---|---|---|---|---|")
    for card in sorted((card for card in cards if card.graph is not None), key=lambda card: (card.kind, card.name)):
        remark = f"It {card.terms}." if card.terms else ""
        inside = "yes" if card.embedded else "no"
        yield f"| {card.name} | {card.kind} | {card.vendor} | {card.licence} | {inside} | {remark} |"
