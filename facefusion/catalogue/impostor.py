"""Files that are called a model and are none: what was downloaded, or checked out, in its place."""

from __future__ import annotations

from pathlib import Path

_LONGEST_HEAD = 1 << 10
_POINTER = b"version https://git-lfs.github.com/spec/"
"""Of a Git LFS pointer, https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md."""
_ARCHIVES = {b"PK\x03\x04": "a zip archive", b"\x1f\x8b": "a gzip archive", b"7z\xbc\xaf\x27\x1c": "a 7z archive"}


def impostor(path: Path) -> str:
    """What a file obviously is instead of a model, after "it is"; empty where nothing of the kind shows.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(_LONGEST_HEAD)
    if not head:
        return "empty"
    if head.startswith(_POINTER):
        return "a Git LFS pointer, which git lfs pull turns into the file"
    # No graph begins with "<": that would be a field 7 of wire type 4, which ONNX does not have.
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return "a web page, not the file itself"
    return next((name for magic, name in _ARCHIVES.items() if head.startswith(magic)), "")
