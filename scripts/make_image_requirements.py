"""Writes the lists with hashes that the container's image installs: ``python -m scripts.make_image_requirements``.

Asks the package index through pip, as it is set up, and fetches little: the index tells the hashes.
"""

from __future__ import annotations

from scripts.supply.hashes import hashed_lists, hashes_of, text_of
from scripts.supply.pins import ROOT


def main() -> None:
    """Write all lists."""
    for one in hashed_lists():
        (ROOT / one.path).write_text(text_of(one, hashes_of(one)), encoding="utf-8")


if __name__ == "__main__":
    main()
