"""All marks of a file, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from facefusion.core.errors import InputError
from facefusion.provenance.manifests import Store, Verdict, stores_of
from facefusion.provenance.records import shared_sidecar_of
from facefusion.provenance.xmp.packet import fault_of
from facefusion.provenance.xmp.read import words_of

ALTERED = frozenset(
    (
        "algorithmicMedia",
        "algorithmicallyEnhanced",
        "composite",
        "compositeCapture",
        "compositeSynthetic",
        "compositeWithTrainedAlgorithmicMedia",
        "dataDrivenMedia",
        "softwareImage",
        "trainedAlgorithmicData",
        "trainedAlgorithmicMedia",
        "virtualRecording",
    )
)
"""Source types of what a program made or altered, as the vocabulary and C2PA's additions to it name them. What a camera
or a scanner took, and what people did by hand, are no such."""


class Answer(Enum):
    """What the marks of a file come to, with the exit code that says so; the gravest last."""

    UNMARKED = 0
    """No mark says that a program altered it. That proves nothing."""
    ALTERED = 5
    """It says itself that a program made or altered it."""
    UNREADABLE = 1
    """There is no answer: the file cannot be read."""
    BROKEN = 6
    """It has a mark that does not verify."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in a file."""

    path: Path
    source_types: tuple[str, ...] = ()
    """As its metadata says it: IPTC's property, or the tag of Matroska and WebM."""
    stores: tuple[Store, ...] = ()
    """Its signed manifests: those inside it, and those beside it."""
    watermark: str | None = None
    """What its pixels say."""
    faults: tuple[str, ...] = ()
    """What could not be looked at, a sentence each."""
    unreadable: bool = False
    """The file itself."""

    @property
    def answer(self) -> Answer:
        """What all that comes to."""
        if self.unreadable:
            return Answer.UNREADABLE
        if any(store.verdict is Verdict.BROKEN for store in self.stores):
            return Answer.BROKEN
        signed = (said for store in self.stores for said in store.source_types)
        if self.watermark is not None or any(map(is_altered, (*self.source_types, *signed))):
            return Answer.ALTERED
        return Answer.UNMARKED


def is_altered(source_type: str) -> bool:
    """Whether a source type is one of what a program made or altered, however its vocabulary is written."""
    return term(source_type) in ALTERED


def term(source_type: str) -> str:
    """The last part of a source type, without its vocabulary."""
    return source_type.rstrip("/").replace(":", "/").rsplit("/", 1)[-1]


def gravest(answers: Iterable[Answer]) -> Answer:
    """The one that speaks for several files; unmarked where there are none."""
    order = list(Answer)
    return max(answers, key=order.index, default=Answer.UNMARKED)


def look_at(path: Path, anchors: str | None = None, watermark: Callable[[Path], str | None] | None = None) -> Findings:
    """Find the marks of a file of anybody's. A broken one has those that can still be read.

    Args:
        path: of the file.
        anchors: certificates of those whom to trust, as PEM.
        watermark: looks into the pixels, where that is installed.
    """
    try:
        words, stores = words_of(path), stores_of(path, anchors)
    except InputError as error:
        return Findings(path, faults=(str(error),), unreadable=True)
    faults = [f"Its XMP data cannot be read, since {fault}." for fault in map(fault_of, words.packets) if fault]
    if path == shared_sidecar_of(path):
        faults.append("Its name is that of a manifest, which tells of the file that it lies beside. Name that file.")
    seen = watermark(path) if watermark is not None else None
    return Findings(path, words.source_types, stores, seen, tuple(faults))
