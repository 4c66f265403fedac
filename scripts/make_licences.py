"""Writes docs/licences.md, and looks whether all licences are in order: ``python -m scripts.make_licences [--check]``.

An unknown licence, one that does not let everybody pass on what it covers, and a package that states another than is
written down are errors until ``scripts/supply/licences.toml`` has a line on it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, metadata

from facefusion.catalogue.catalogue import Catalogue
from scripts.supply.licences import PAGE, model_faults, package_faults, page, read_declared
from scripts.supply.pins import ROOT, RUNTIME, Pin, pins


def licence_of(pin: Pin) -> str | None:
    """What an installed package states; none where it is not installed in that version, or states nothing.

    The field ``License`` of older packages is free text; what is no expression there counts as nothing.
    """
    try:
        found = metadata(pin.name).json
    except PackageNotFoundError:
        return None
    if found.get("version") != pin.version:
        return None
    words = found.get("license_expression") or found.get("license")
    return words if isinstance(words, str) else None


def main(words: Sequence[str]) -> int:
    """Write the page; with ``--check`` change nothing. 1 where something is not in order."""
    declared, cards = read_declared(), tuple(Catalogue.load().cards())
    packages = [pin for name in RUNTIME for pin in pins(name)]
    faults = [*package_faults(declared, packages, licence_of), *model_faults(cards)]
    text = page(declared, cards)
    if "--check" not in words:
        (ROOT / PAGE).write_text(text, encoding="utf-8")
    elif not (ROOT / PAGE).is_file() or (ROOT / PAGE).read_text(encoding="utf-8") != text:
        faults.append(f"{PAGE} is out of date; run: python -m scripts.make_licences")
    sys.stderr.writelines(f"{fault}\n" for fault in faults)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
