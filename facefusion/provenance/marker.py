"""Marks one result at its end: the words in the file first, the signature over all of it last."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from facefusion.core.stop import StopToken
from facefusion.media.finishing import AsWritten, Completed
from facefusion.media.output import final_name
from facefusion.provenance.records import Declaration, Sealer, sidecar_of
from facefusion.provenance.signing.formats import media_type_inside
from facefusion.provenance.xmp.matroska import DIGITAL_SOURCE_TYPE
from facefusion.provenance.xmp.packet import extension_of, fault_of, packet
from facefusion.provenance.xmp.read import read_xmp, source_types
from facefusion.provenance.xmp.write import write_xmp


class Unmarked(AsWritten):
    """Says nothing of a result, and leaves no manifest beside it that belongs to an older one."""

    def complete(self, part: Path, path: Path, stop: StopToken) -> Completed:
        """See :class:`~facefusion.media.finishing.Finishing`."""
        return Completed({sidecar_of(final_name(path)): None})


class Marker:
    """Says of a result how it came to be. A :class:`~facefusion.media.finishing.Finishing`.

    Args:
        declaration: what to say; it has a source type.
        parent: what the result was made of.
        sealer: signs it; none where it is not to be signed.
    """

    def __init__(self, declaration: Declaration, parent: Path | None = None, sealer: Sealer | None = None) -> None:
        if declaration.source_type is None:
            raise ValueError("there is nothing to say of the result")
        self._source_type = declaration.source_type
        self._declaration = declaration
        self._parent = parent
        self._sealer = sealer
        self._notices: list[str] = []
        self.is_told = False
        """Whether the file itself says its source type. Known once it is complete."""
        self.side_car: Path | None = None
        """Where the manifest lies that it cannot hold; likewise."""

    def tags(self) -> Mapping[str, str]:
        """The source type, for containers that have no place for XMP."""
        return {DIGITAL_SOURCE_TYPE: self._source_type.value}

    def packet(self, xmp: bytes) -> bytes:
        """The XMP packet with the source type in it."""
        fault = fault_of(xmp)
        if fault is not None:
            self._notices.append(f"The XMP data of the target is left out, since {fault}.")
        elif xmp and extension_of(xmp):
            self._notices.append("The extended part of the target's XMP data is left out: results hold no such part.")
        return packet(self._source_type, xmp)

    def copies(self, path: Path) -> int:
        """Twice where a manifest comes into the file; a MOV's packet takes a copy too."""
        is_sealed = self._sealer is not None and media_type_inside(path) is not None
        return 2 if is_sealed or path.suffix.lower() == ".mov" else 1

    def complete(self, part: Path, path: Path, stop: StopToken) -> Completed:
        """See :class:`~facefusion.media.finishing.Finishing`."""
        self.is_told = self._source_type.value in source_types(part) or write_xmp(
            part, path.suffix, packet(self._source_type, read_xmp(part) or b"")
        )
        side = sidecar_of(final_name(path))
        made = None
        if self._sealer is not None:
            stop.check()
            made = self._sealer.seal(part, path, self._declaration, self._parent)
        if made is not None:
            self.side_car = side
            self._notices.append(f"{path.name} cannot hold a signed manifest; it lies beside it, in {side.name}.")
        elif self._sealer is None and not self.is_told:
            self._notices.append(f"{path.name} has no place to say how it came to be.")
        return Completed({side: made}, tuple(self._notices))
