"""Is a model file whole, and the one that the catalogue means?

A file that was fetched lies beside a record of what it was made from and of its SHA-256. One that somebody brought has
none; it counts when its SHA-256 is that of the catalogue. One that FaceFusion publishes counts when its CRC-32 is that
in the ``.hash`` file beside it, where FaceFusion's own downloads have it.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from facefusion.catalogue.card import GraphFile, Part
from facefusion.catalogue.checksums import digest_of, published_sum_of, sha256_of
from facefusion.catalogue.convert.formats import FORMATS, VERBATIM
from facefusion.catalogue.impostor import impostor

CRC32 = re.compile(r"[0-9a-f]{8}")
"""As the file beside a published one holds it."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is known about a fetched file; kept as JSON beside it."""

    format: str
    format_version: int
    sources: dict[str, str]
    """SHA-256 of each part by role; of a published file its CRC-32."""
    sha256: str
    bytes: int
    modified: int
    """Time of the last change in nanoseconds: while size and time stay, the file is not read again."""


def record_path(path: Path) -> Path:
    """Where the record of a model file lies."""
    return path.with_name(f"{path.name}.json")


def checksum_path(path: Path) -> Path:
    """Where the CRC-32 of a published model file lies."""
    return path.with_suffix(".hash")


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let ``write`` fill a file of another name, then move it in place: under ``path`` lies a whole file or none."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(unfinished)
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_record(path: Path, graph: GraphFile, sources: dict[str, str], sha256: str) -> None:
    """Write the record of a file just put in place."""
    status = path.stat()
    version = FORMATS[graph.format].version
    _save(path, Record(graph.format, version, sources, sha256, status.st_size, status.st_mtime_ns))


def fault(path: Path, graph: GraphFile) -> str:
    """Why the file cannot be trusted to be ``graph``; empty where it can.

    Reads the whole file only where its size or time differ from the record's, or where it has none.
    """
    found = _fault(path, graph)
    if graph.own or found:
        # Says more than that it is not what it should be.
        instead = impostor(path)
        return f"it is {instead}" if instead else found
    return ""


def _fault(path: Path, graph: GraphFile) -> str:
    if graph.own:
        return ""
    record = _read_record(path)
    if record is None:
        return _fault_of_brought(path, graph)
    if (record.format, record.format_version) != (graph.format, FORMATS[graph.format].version):
        return "it was made by an older version of this program"
    if any(record.sources.get(part.role) not in _hashes(part) for part in graph.parts):
        return "it was made from another version of the model"
    status = path.stat()
    if (status.st_size, status.st_mtime_ns) == (record.bytes, record.modified):
        return ""
    if status.st_size != record.bytes or sha256_of(path) != record.sha256:
        return f"its content is not what was {'imported' if graph.is_imported else 'fetched'}"
    return ""


def _hashes(part: Part) -> set[str]:
    return {part.sha256, *(download.sha256 for download in part.downloads if download.sha256)}


def _fault_of_brought(path: Path, graph: GraphFile) -> str:
    if graph.publication is not None:
        return _fault_of_published(path)
    if graph.format == VERBATIM and graph.parts:
        return "" if digest_of(path) == graph.parts[0].sha256 else "its SHA-256 is not the catalogue's"
    return f"{record_path(path).name} does not lie beside it"


def _fault_of_published(path: Path) -> str:
    checksum = checksum_path(path)
    if path.is_symlink() and not checksum.is_file():
        checksum = checksum_path(path.resolve())
    if not checksum.is_file():
        return f"neither {record_path(path).name} nor {checksum_path(path).name} lies beside it"
    expected = _text_of(checksum).strip().lower()
    if not CRC32.fullmatch(expected):
        return f"{checksum.name} holds no CRC-32"
    found = published_sum_of(path)
    return "" if found == expected else f"its CRC-32 is not the one in {checksum.name}"


def _text_of(path: Path) -> str:
    """What a small file says, whichever of the ways in which editors save text: Windows' set a mark before it."""
    data = path.read_bytes()
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if wide else "utf-8-sig", errors="replace")


def _read_record(path: Path) -> Record | None:
    """The record, or none where there is none that this version wrote; then the file counts as brought."""
    try:
        table = json.loads(record_path(path).read_text(encoding="utf-8"))
        return Record(**table) if isinstance(table["sources"], dict) else None
    except (OSError, LookupError, ValueError, TypeError):
        return None


def _save(path: Path, record: Record) -> None:
    text = json.dumps(asdict(record), indent=1, sort_keys=True) + "\n"
    write_atomically(record_path(path), lambda unfinished: unfinished.write_text(text, encoding="utf-8"))
