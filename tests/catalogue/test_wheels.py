from __future__ import annotations

import os
from pathlib import Path

import pytest

from facefusion.catalogue import wheels


def test_what_pip_removes_meanwhile_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder goes between being listed and being entered, and a file between being listed and being asked."""
    (tmp_path / "pip").mkdir()
    for name in ("pip/going", "pip/staying"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part").write_bytes(bytes(100))
    (tmp_path / "whole").write_bytes(bytes(7))
    scan, listed = os.scandir, []

    def scandir(path: str | Path) -> object:
        listed.append(Path(path))
        if Path(path).name == "going":
            (Path(path) / "part").unlink()
            Path(path).rmdir()
        if Path(path).name == "staying":
            found = list(scan(path))
            (Path(path) / "part").unlink()
            return Listing(found)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert wheels._largest(tmp_path) == 7
    assert {tmp_path / "pip" / "going", tmp_path / "pip" / "staying"} <= set(listed)


class Listing:
    """What was in a folder, for a while."""

    def __init__(self, entries: list[os.DirEntry[str]]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Listing:
        return self

    def __next__(self) -> os.DirEntry[str]:
        return next(self._entries)

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *_: object) -> None:
        pass
