"""The report of a run as a JSON file; what its fields mean is in ``docs/report.md``.

The file is there from the beginning, with the status ``running``, so that a run which cannot report does not begin, and
one that was killed can be told from one that ended.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TypeAlias

from facefusion import __version__
from facefusion.catalogue.catalogue import Catalogue
from facefusion.config.origin import DEFAULT
from facefusion.config.request import named_output
from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.errors import ContentRefusedError, UsageError
from facefusion.core.own_file import OwnFile
from facefusion.core.report import ContentReport, RunReport
from facefusion.core.storage import refusal
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.jobs.folder import keeps
from facefusion.media.output import move_into_place, part_path
from facefusion.observability.recorder import Recorder

Json: TypeAlias = Mapping[str, object]

SCHEMA = 1
"""Of the document. It rises when a field goes or changes its meaning; fields may be added at any time."""

RUNNING = "running"
DONE = "done"

DIGEST_BYTES = 1 << 28
"""Larger files go without a digest: reading them again would take longer than everything else of a report."""

PACKAGES = (
    "av", "imagecodecs", "numpy", "onnxruntime", "onnxruntime-gpu", "opencv-python", "pillow", "pillow-heif",
)  # fmt: skip

REMEDY = "Name another file with --report."
REPORT = OwnFile("a report of this program", re.compile(rb'\{\s*"schema": \d'), REMEDY)


class ReportFile:
    """The report of one run."""

    def __init__(self, path: Path, snapshot: Snapshot, recorder: Recorder) -> None:
        """Prepare to report.

        Args:
            path: of the file; an older report is replaced.
            snapshot: the settings in force.
            recorder: listens to the run.

        Raises:
            UsageError: the path is that of a source, the target or the output, or among jobs, or something else than a
                report is there.
            OutputError: the system does not let us look at it.
        """
        self._path = path
        self._snapshot = snapshot
        self._recorder = recorder
        self._started = datetime.now(UTC)
        self._check()

    def begin(self) -> None:
        """Write that the run is going on.

        Raises:
            OutputError: the file cannot be written.
            ResourceError: the disk is full.
        """
        self._write({**self._head(RUNNING, None), "error": None, **self._known()})

    def done(self, report: RunReport, exit_code: int) -> None:
        """Write what came out.

        Raises:
            OutputError: the file cannot be written.
            ResourceError: the disk is full.
        """
        self._write({**self._head(DONE, exit_code), "error": None, **self._known(), **_outcome(report)})

    def ended(self, status: str, exit_code: int, error: BaseException, message: str) -> None:
        """Write why nothing came out, and what is known of the run.

        Args:
            status: ``failed``, ``refused`` or ``stopped``.
            exit_code: of the program.
            error: that ended it.
            message: what the user is told.

        Raises:
            OutputError: the file cannot be written.
            ResourceError: the disk is full.
        """
        about = {"kind": type(error).__name__, "message": message}
        content = error.content if isinstance(error, ContentRefusedError) else None
        known = {**self._known(), **({} if content is None else {"content": _content(content)})}
        self._write({**self._head(status, exit_code), "error": about, **known})

    def _check(self) -> None:
        paths = self._snapshot.get(PathsSettings)
        target, output = paths.target_path, paths.output_path
        if output is not None and target is not None:
            output = named_output(output, target)
        named = {"target": target, "output": output} | {f"{role} {path}": path for role, path in self._read()}
        for name, path in named.items():
            if path is not None and _is_same(self._path, path):
                raise UsageError(f"--report {self._path} is the {name} itself", REMEDY)
        if keeps(paths.jobs_path, self._path):
            raise UsageError(f"--report {self._path} would lie among the jobs", REMEDY)
        try:
            REPORT.check(self._path)
        except OSError as error:
            raise refusal(error, self._path, REMEDY) from error

    def _head(self, status: str, exit_code: int | None) -> Json:
        ended = None if status == RUNNING else datetime.now(UTC)
        return {
            "schema": SCHEMA,
            "program": {"name": "FaceFusion", "version": __version__},
            "status": status,
            "exit_code": exit_code,
            "started": _moment(self._started),
            "ended": None if ended is None else _moment(ended),
        }

    def _known(self) -> Json:
        """All that is known without a result."""
        recorder = self._recorder
        return {
            "machine": {
                "system": platform.platform(),
                "python": platform.python_version(),
                "packages": dict(_packages()),
            },
            "settings": dict(self._settings()),
            "inputs": list(self._inputs()),
            "output": None,
            "models": [_model(name, provider, None) for name, provider in recorder.models.items()],
            "frames": {"finished": recorder.frames, "held": sorted(recorder.held)},
            "notices": list(recorder.notices),
            "warnings": [message for message, is_warning in recorder.notices.items() if is_warning],
        }

    def _settings(self) -> Iterator[tuple[str, object]]:
        """Settings that are not at their default."""
        for spec in self._snapshot.schema:
            if self._snapshot.origin(spec.name) != DEFAULT:
                yield spec.name, _plain(self._snapshot.value(spec))

    def _inputs(self) -> Iterator[Json]:
        for role, path in self._read():
            yield {"role": role, **_file(path)}
        paths = self._snapshot.get(PathsSettings)
        if paths.target_path is not None:
            yield {"role": "target", **_file(paths.target_path)}

    def _read(self) -> Iterator[tuple[str, Path]]:
        """What is read beside the target, each file with its part."""
        yield from (("source", path) for path in self._snapshot.get(PathsSettings).source_paths)
        yield from self._snapshot.get(FaceSelectorSettings).mapping.files

    def _write(self, document: Json) -> None:
        data = json.dumps(document, indent=2).encode() + b"\n"
        part = part_path(self._path, REMEDY)
        try:
            part.write_bytes(data)
            move_into_place(part, self._path, REMEDY)
        except OSError as error:
            raise refusal(error, self._path, REMEDY) from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)


def _outcome(report: RunReport) -> Json:
    return {
        "output": _file(Path(report.output)),
        "models": [_model(name, provider, report.model_hashes.get(name)) for name, provider in report.models.items()],
        "frames": {
            "read": report.frames_read,
            "written": report.frames_written,
            "finished": report.frames,
            "resumed": report.resumed_frames,
            "held": list(report.held_frames),
            "damaged": report.damaged_frames,
            "lost": report.lost_frames,
            "dropped": report.dropped_frames,
            "repeated": report.repeated_frames,
            "without_face": report.frames_without_face,
        },
        "faces": {"found": report.faces_found, "changed": report.faces},
        "marking": None if report.marking is None else asdict(report.marking),
        "content": None if report.content is None else _content(report.content),
        "seconds": {
            "start_up": round(report.start_up_seconds, 3),
            "processing": round(report.seconds, 3),
            "stages": {name: round(seconds, 3) for name, seconds in report.stages.items()},
        },
        "peak_memory_bytes": report.peak_memory,
        "peak_video_memory_bytes": report.peak_video_memory,
        "threads": None if report.threads is None else asdict(report.threads),
        "not_kept": list(report.not_kept),
    }


def _model(name: str, provider: str, sha256: str | None) -> Json:
    licence = Catalogue.load().named(name)[0].licence
    return {"name": name, "provider": provider, "licence": licence, "sha256": sha256}


def _content(content: ContentReport) -> Json:
    """What the content filter saw."""
    filters = [
        {"name": name, "limit": limit, "highest": content.scores.get(name), "imported": name in content.imported}
        for name, limit in content.limits.items()
    ]
    seen = {"looked_at": content.looked_at, "counted": content.counted, "counted_at": list(content.times)}
    return {"filters": filters, **seen}


def _file(path: Path) -> Json:
    """What a file is; only its path where it cannot be read."""
    about: dict[str, object] = {"path": os.path.abspath(path), "bytes": None, "modified": None, "sha256": None}  # noqa: PTH100 - links stay
    with contextlib.suppress(OSError):
        status = path.stat()
        about["bytes"] = status.st_size
        about["modified"] = _moment(datetime.fromtimestamp(status.st_mtime, UTC))
        if path.is_file() and status.st_size <= DIGEST_BYTES:
            with path.open("rb") as file:
                about["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return about


def _is_same(first: Path, second: Path) -> bool:
    """Whether two paths name one file; for one that is not there yet, one place."""
    with contextlib.suppress(OSError):
        return first.samefile(second)
    return os.path.realpath(first) == os.path.realpath(second)


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


def _moment(time: datetime) -> str:
    return time.isoformat(timespec="seconds")


def _packages() -> Iterator[tuple[str, str]]:
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            yield name, metadata.version(name)
