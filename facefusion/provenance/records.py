"""What is said of a file, whoever says it and however it is written down."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Protocol

VOCABULARY = "http://cv.iptc.org/newscodes/digitalsourcetype/"
"""IPTC NewsCodes, digital source type: https://cv.iptc.org/newscodes/digitalsourcetype/."""


class SourceType(Enum):
    """How a picture came to be, in IPTC's words; the strongest first."""

    COMPOSITE = VOCABULARY + "compositeWithTrainedAlgorithmicMedia"
    """A camera's picture of which parts were made by a model, or by faces of others."""
    ENHANCED = VOCABULARY + "algorithmicallyEnhanced"
    """A camera's picture that was restored, enlarged or coloured."""


class Marking(Enum):
    """How much a result says of itself."""

    FULL = "full"
    """The source type, and a signed manifest."""
    METADATA = "metadata"
    """The source type."""
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Deed:
    """What one processor did."""

    processor: str
    source_type: SourceType | None
    """What it makes of the result; none where it alters no picture that could be taken for a photograph."""
    models: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each model's files in hexadecimal digits, by the model's name."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a result says of itself. It names no person, no path and no machine."""

    deeds: tuple[Deed, ...]
    program: str
    """Name and version, with a space between."""
    inherited: SourceType | None = None
    """What has to be said of what it was made of, which holds for it too."""

    @property
    def source_type(self) -> SourceType | None:
        """The strongest of all deeds and of what was there before; none where there is nothing to say."""
        types = {self.inherited, *(deed.source_type for deed in self.deeds)}
        return next((source_type for source_type in SourceType if source_type in types), None)


class Sealer(Protocol):
    """Signs results: the last that is written into a file, or beside it."""

    @property
    def signer(self) -> str:
        """Who signs, as people are told: a name of the certificate's, or that the signer is unknown."""

    def seal(self, file: Path, name: Path, declaration: Declaration, parent: Path | None) -> Path | None:
        """Put a signed manifest into a finished file, and verify it.

        Args:
            file: the finished file, under whatever name; it is replaced as one, or left as it was where this fails.
            name: the final one, whose extension says the format.
            declaration: what to say.
            parent: what the file was made of: named by its hash, and kept with the manifest that it carries, if any.

        Returns:
            A file of its own with the manifest, beside ``file``, where the format cannot hold it, to be moved to where
            :func:`sidecar_of` says; else none.

        Raises:
            SigningError: it cannot be signed, or what was signed does not verify.
        """


def sidecar_of(path: Path) -> Path:
    """Where the manifest of a file lies that cannot hold it: ``result.mkv`` has ``result.mkv.c2pa``."""
    return path.with_name(path.name + ".c2pa")


def found_sidecar_of(path: Path) -> Path | None:
    """The file there, if one is: beside the file, or beside what a symbolic link points to."""
    return next((one for one in (sidecar_of(path), sidecar_of(path.resolve())) if lies_there(one)), None)


def shared_sidecar_of(path: Path) -> Path:
    """Where other programs lay the manifest of a file: ``result.c2pa``, which any file of that name could have."""
    return path.with_suffix(".c2pa")


def has_sidecar(path: Path) -> bool:
    """Whether a file lies beside this one that may hold its manifest."""
    return found_sidecar_of(path) is not None or lies_there(shared_sidecar_of(path))


def lies_there(path: Path) -> bool:
    """Whether there is a file of that name. There is none of a name that the file system has no room for.

    Raises:
        OSError: the system does not let us look.
    """
    try:
        return path.is_file()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return False
        raise
