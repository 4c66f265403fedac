"""What files that are read say of themselves already: in words, and in manifests that somebody signed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from facefusion.provenance.manifests import STORE, Store, stores_of
from facefusion.provenance.records import SourceType, found_sidecar_of
from facefusion.provenance.xmp.read import source_types

MADE = frozenset(
    ("trainedAlgorithmicMedia", "compositeWithTrainedAlgorithmicMedia", "compositeSynthetic", "algorithmicMedia")
)
"""Terms of the vocabulary for what is made by models as a whole or in part: whatever is done to such a picture, it
stays at least a composite."""
ENHANCED = "algorithmicallyEnhanced"

EDGE = 1 << 20
"""Bytes at either end of a file in which a manifest begins, wherever formats keep one: before the pictures, or behind
them."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of one file."""

    source_types: tuple[str, ...] = ()
    """How it came to be, in its own words and in those of its manifests."""
    verdict: str | None = None
    """What is to be thought of its manifest; none where it carries none."""

    def __bool__(self) -> bool:
        return bool(self.source_types) or self.verdict is not None

    @property
    def inherited(self) -> SourceType | None:
        """What has to be said of whatever is made of it."""
        return inherited(self.source_types)

    def __str__(self) -> str:
        """For people, to follow the file's name."""
        parts = []
        if self.source_types:
            parts.append(f"says of itself: {', '.join(map(term_of, self.source_types))}")
        if self.verdict is not None:
            parts.append(f"carries a manifest ({self.verdict})")
        return ", and ".join(parts)


def marks_of(path: Path) -> Marks:
    """Look for the marks of a file.

    Raises:
        InputError: it cannot be read at all.
    """
    stores = manifests_of(path)
    said = (*source_types(path), *(one for store in stores for one in store.source_types))
    return Marks(tuple(dict.fromkeys(said)), stores[0].verdict.value if stores else None)


def manifests_of(path: Path) -> Sequence[Store]:
    """The manifests in a file and beside it. The library of 30 MB that reads them comes in only where any seem to be.

    Raises:
        InputError: it cannot be read at all.
    """
    if found_sidecar_of(path) is None and not _seems_to_hold_one(path):
        return ()
    return stores_of(path)


def inherited(said: Iterable[str]) -> SourceType | None:
    """What has to be said of whatever is made of files that say such things of themselves."""
    terms = {term_of(one) for one in said}
    if terms & MADE:
        return SourceType.COMPOSITE
    return SourceType.ENHANCED if ENHANCED in terms else None


def term_of(value: str) -> str:
    """A term of the vocabulary without its address, which is written in more than one way."""
    return value.rstrip("/").rpartition("/")[2]


def _seems_to_hold_one(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(EDGE)
            file.seek(max(file.seek(0, 2) - EDGE, 0))
            return STORE in head or STORE in file.read(EDGE)
    except OSError:
        return False  # whoever reads the file says what is wrong with it
