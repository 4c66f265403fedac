"""Where a run keeps its finished segments until the result is in place, and finds those of an earlier run.

::

    <root>/.lock                       held for the moment in which folders are made, taken over or removed
    <root>/<address>-<token>/          one per run, mode 0700
        lock                           held as long as a run works in it
        folder.json                    format, fingerprint, beginning
        segment-000000.mkv             a finished segment, and
        segment-000000.json            its record: size and SHA-256 of the file, and the pipeline's manifest
        kept                           where the user wants the folder to stay

A segment counts as finished when its record is there and its file is what the record says. The record appears under its
name only after the file's content is on the disk, so a process may die anywhere in between.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import filelock

from facefusion.catalogue.checksums import sha256_of
from facefusion.core.errors import ResourceError
from facefusion.core.storage import flush, refusal, write_whole
from facefusion.core.wording import counted
from facefusion.pipeline.changes import changes
from facefusion.pipeline.left_folders import FORMAT, KEPT, LOCK, MARK, SEGMENT, LeftFolder, read_json, unused
from facefusion.pipeline.work_root import REMEDY, alone, lock_on, work_root

__all__ = ["WorkFolder", "address_of", "work_root"]

STALE_SECONDS = 2 * 60 * 60
"""Age from which what another step left, and nothing can go on from, is removed at the start of a run."""


def address_of(target: Path, output: Path) -> str:
    """What a step's folders have in common: 16 hexadecimal digits that stand for the files it reads and writes."""
    text = "\0".join(os.path.realpath(path) for path in (target, output))
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:16]


class WorkFolder:
    """The folder of one run. A context manager: as long as it is open, no other run touches it.

    Left without :meth:`finish` or :meth:`discard`, it stays for the next run if a segment is recorded in it, else it
    goes; one that the user wants to keep stays.
    """

    def __init__(self, path: Path, lock: filelock.BaseFileLock, records: tuple[Mapping[str, object], ...]) -> None:
        """Take over a folder whose lock is held; :meth:`open` finds or makes one."""
        self.path = path
        self.records = records
        """Manifests of the segments 0, 1, 2, ... that an earlier run finished."""
        self.notices: list[str] = []
        """What became of an earlier run."""
        self._lock = lock
        self.kept = len(records)
        """How many finished segments the next run would find: those of earlier runs and those recorded since."""

    @classmethod
    def open(cls, root: Path, address: str, fingerprint: Mapping[str, str], *, resume: bool) -> Self:
        """Go on in the folder that an earlier run left, or begin in a new one.

        Folders of the same address that no run holds and that cannot be gone on from are removed, unless the user wants
        to keep them, and so is what is stale of other steps.

        Args:
            root: from :func:`work_root`.
            address: from :func:`address_of`.
            fingerprint: all that decides what segments hold, by a name to show to the user.
            resume: whether to go on at all.

        Raises:
            OutputError: the folder cannot be made.
            ResourceError: the disk is full, or another process hangs.
        """
        try:
            with alone(root):
                found = []
                for folder in unused(root):
                    if folder.address == address:
                        found.append(folder)
                    else:
                        folder.clean(STALE_SECONDS)
                chosen = _best(found, fingerprint) if resume else None
                notices = [] if chosen else list(_reasons(found, fingerprint, resume=resume))
                for folder in found:
                    if folder is not chosen and folder.is_kept:
                        notices.append(f"{folder.path}, which an earlier run was to keep, stays as it is.")
                        folder.lock.release()
                    elif folder is not chosen:
                        folder.remove()
                if chosen is None:
                    return cls._begin(root, address, fingerprint, notices)
            return cls._go_on(chosen, notices)
        except OSError as error:
            raise refusal(error, root, REMEDY) from error

    @classmethod
    def _begin(cls, root: Path, address: str, fingerprint: Mapping[str, str], notices: list[str]) -> Self:
        path = root / f"{address}-{secrets.token_hex(4)}"
        path.mkdir(mode=0o700)
        lock = lock_on(path / LOCK)
        lock.acquire(timeout=0)
        made = cls(path, lock, ())
        made.notices += notices
        try:
            mark = {"format": FORMAT, "begun": time.time(), "fingerprint": dict(fingerprint)}
            write_whole(path / MARK, json.dumps(mark, indent=1).encode())
        except BaseException:
            lock.release()
            shutil.rmtree(path, ignore_errors=True)
            raise
        return made

    @classmethod
    def _go_on(cls, left: LeftFolder, notices: list[str]) -> Self:
        records, damage = _verified(left.path)
        opened = cls(left.path, left.lock, records)
        opened.notices += notices
        try:
            _drop_after(left.path, len(records))
        except BaseException:
            left.lock.release()
            raise
        if damage:
            opened.notices.append(
                f"Segment {len(records)} of an earlier run and all after it are made again: {damage}."
            )
        if records:
            begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(left.begun))
            opened.notices.append(f"Going on after {_segments(len(records))} of the run begun at {begun}.")
        return opened

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.kept:
            self._lock.release()
        else:
            self.discard()

    @property
    def is_to_stay(self) -> bool:
        """Whether this run, or one before it, was asked to keep the folder."""
        return LeftFolder(self.path, self._lock).is_kept

    @property
    def promise(self) -> str | None:
        """What to tell the user where the run does not come to its end; none where nothing is kept."""
        if not self.kept:
            return None
        return f"The same command goes on after {_segments(self.kept)}, kept in {self.path}."

    def segment_path(self, number: int) -> Path:
        """Where the file of a segment belongs."""
        return self.path / f"segment-{number:06d}.mkv"

    def spare_path(self, number: int) -> Path:
        """Where to write a file that is to take the place of a finished segment's."""
        return self.path / f"segment-{number:06d}.mkv.part"

    def record(self, number: int, file: Path | None, manifest: Mapping[str, object]) -> None:
        """Note that a segment is finished. On return its file and its record are on the disk.

        Args:
            number: of the segment; segments are recorded in order, and may be recorded again.
            file: at :meth:`segment_path`, or at :meth:`spare_path` and then moved; none for a segment without frames.
            manifest: what a later run needs to know; fit for JSON.

        Raises:
            OutputError: the disk does not hold it.
            ResourceError: the disk is full.
        """
        path = self.path / f"segment-{number:06d}.json"
        try:
            about = None
            if file is not None:
                flush(file)
                about = {"size": file.stat().st_size, "sha256": sha256_of(file)}
                file.replace(self.segment_path(number))
            record = {"format": FORMAT, "file": about, "manifest": dict(manifest)}
            write_whole(path, json.dumps(record).encode())
        except OSError as error:
            raise refusal(error, path, REMEDY) from error
        self.kept = max(self.kept, number + 1)

    def finish(self, *, keep: bool) -> None:
        """The result is in place: the folder goes, unless the user wants to keep it, now or since an earlier run.

        Raises:
            OutputError: it cannot be marked as one to keep.
            ResourceError: the disk is full.
        """
        try:
            if keep:
                write_whole(self.path / KEPT, b"")
        except OSError as error:
            raise refusal(error, self.path, REMEDY) from error
        if not self.is_to_stay:
            self.discard()

    def discard(self) -> None:
        """Remove the folder, since nothing in it is worth going on from; of one that is to stay, only the segments.

        Harmless a second time.
        """
        self.kept = 0
        with contextlib.suppress(OSError, ResourceError), alone(self.path.parent):
            if self.is_to_stay:
                _drop_after(self.path, 0)
            else:
                LeftFolder(self.path, self._lock).remove()
        self._lock.release()


def _best(folders: list[LeftFolder], fingerprint: Mapping[str, str]) -> LeftFolder | None:
    fitting = [folder for folder in folders if folder.fingerprint == fingerprint]
    return max(fitting, key=lambda folder: (folder.is_kept, folder.record_count, folder.begun), default=None)


def _reasons(folders: list[LeftFolder], fingerprint: Mapping[str, str], *, resume: bool) -> Iterator[str]:
    """Why what an earlier run finished is not gone on from."""
    for folder in folders:
        count = folder.record_count
        if not count or not folder.is_marked:
            continue
        old = folder.fingerprint
        if not resume:
            reason = "--no-resume is given"
        elif old is None:
            reason = f"{MARK} in its folder is damaged or of another version"
        else:
            reason = f"this changed since: {changes(old, fingerprint)}"
        yield f"Starting afresh, without the {_segments(count)} of an earlier run: {reason}."


def _segments(count: int) -> str:
    return counted(count, "finished segment")


def _verified(folder: Path) -> tuple[tuple[Mapping[str, object], ...], str]:
    """Manifests of the leading run of finished segments, and what is wrong with the one after, if anything."""
    manifests: list[Mapping[str, object]] = []
    while True:
        number = len(manifests)
        path = folder / f"segment-{number:06d}.json"
        if not path.exists():
            return tuple(manifests), ""
        record = read_json(path)
        manifest, about = record.get("manifest"), record.get("file", ())
        if record.get("format") != FORMAT or not isinstance(manifest, dict):
            return tuple(manifests), "its record is damaged"
        if about is not None and not _is_file(folder / f"segment-{number:06d}.mkv", about):
            return tuple(manifests), "its file is missing or damaged"
        manifests.append(manifest)


def _is_file(path: Path, about: object) -> bool:
    if not isinstance(about, dict) or not path.is_file() or path.stat().st_size != about.get("size"):
        return False
    return sha256_of(path) == about.get("sha256")


def _drop_after(folder: Path, count: int) -> None:
    """Remove what belongs to segments from number ``count`` on, and unfinished records; leave what is not ours."""
    for path in folder.iterdir():
        name = SEGMENT.fullmatch(path.name)
        if name and (int(name["number"]) >= count or path.suffix == ".part"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
