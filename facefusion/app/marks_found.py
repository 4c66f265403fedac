"""What files that are read say of themselves already: in words, and in manifests that somebody signed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from facefusion.core.wording import shown
from facefusion.provenance.findings import term
from facefusion.provenance.manifests import STORE, Verdict, kept_of, stores_of
from facefusion.provenance.records import SourceType, has_sidecar
from facefusion.provenance.xmp.packet import BrokenPacketError, address_of
from facefusion.provenance.xmp.read import words_of

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
    verdict: Verdict | None = None
    """What is to be thought of its manifest; none where it has none."""
    address: str | None = None
    """Where another of its manifests lies, or the only one, which is not looked at."""
    others: tuple[str, ...] = ()
    """Names of the files beside it with manifests that are not the one."""

    def __bool__(self) -> bool:
        return bool(self.source_types) or self.verdict is not None

    @property
    def carries_one(self) -> bool:
        """Whether it has a manifest that was looked at."""
        return self.verdict not in (None, Verdict.ELSEWHERE)

    @property
    def inherited(self) -> SourceType | None:
        """What has to be said of whatever is made of it."""
        return inherited(self.source_types)

    def __str__(self) -> str:
        """For people, to follow the file's name."""
        parts = []
        if self.source_types:
            parts.append(f"says of itself: {', '.join(shown(term(one)) for one in self.source_types)}")
        if self.verdict is not None and self.carries_one:
            parts.append(f"carries a manifest ({self.verdict.value})")
        if self.address is not None:
            parts.append(f"names a manifest that lies elsewhere, at {shown(self.address)}, and was not fetched")
        return ", and ".join(parts)


def marks_of(path: Path) -> Marks:
    """Look for the marks of a file.

    Raises:
        InputError: it cannot be read at all.
    """
    words = words_of(path)
    named = next(filter(None, map(_address_in, words.packets)), None)
    # The library of 30 MB that reads manifests comes in only where any seem to be.
    stores = stores_of(path) if named is not None or has_sidecar(path) or _seems_to_hold_one(path) else ()
    said = tuple(dict.fromkeys((*words.source_types, *(one for store in stores for one in store.source_types))))
    kept = kept_of(stores)
    others = tuple(store.side_car.name for store in stores if store is not kept and store.side_car is not None)
    address = next((store.address for store in stores if store.address is not None), named)
    if kept is not None:
        return Marks(said, kept.verdict, address, others)
    return Marks(said, None if address is None else Verdict.ELSEWHERE, address)


def inherited(said: Iterable[str]) -> SourceType | None:
    """What has to be said of whatever is made of files that say such things of themselves."""
    terms = {term(one) for one in said}
    if terms & MADE:
        return SourceType.COMPOSITE
    return SourceType.ENHANCED if ENHANCED in terms else None


def _address_in(packet: bytes) -> str | None:
    try:
        return address_of(packet) or None
    except BrokenPacketError:
        return None


def _seems_to_hold_one(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(EDGE)
            file.seek(max(file.seek(0, 2) - EDGE, 0))
            return STORE in head or STORE in file.read(EDGE)
    except OSError:
        return False  # whoever reads the file says what is wrong with it
