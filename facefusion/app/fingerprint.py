"""What decides the pixels of a result, by name: segments are only joined with others of the same fingerprint."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

import cv2
import numpy as np

from facefusion import __version__
from facefusion.app.model_names import SUFFIX
from facefusion.app.models import Models
from facefusion.config.option import Scope
from facefusion.config.settings import PathsSettings
from facefusion.config.state import Snapshot
from facefusion.core.instruction_sets import instruction_sets
from facefusion.faces.settings import FaceSelectorSettings
from facefusion.inference.execution import Execution
from facefusion.media.encoding import Encoding

EDGE = 1 << 20
"""Bytes at either end of a large file that are read to know it again, beside its size and, on one machine, the time of
its change."""

TOGETHER = "frames worked on together"

BREED_DIGITS = 12
"""Enough to tell apart all that will ever work side by side."""

ELSEWHERE = frozenset(("source_paths", "face_map", "target_path", "output_path"))
"""Settings that name files: the files' content counts instead."""

ASIDE = frozenset(("workflow_mode", "workflow_strategy", "temp_frame_format", "keep_temp", "marking"))
"""Settings that the encoded frames do not depend on. What someone changed in files of frames is recorded with each
segment."""

PROGRAM = frozenset((".py", ".toml", ".json", ".lua"))
"""Suffixes of the files that the program is made of."""


def fingerprint(
    snapshot: Snapshot,
    target: Path,
    models: Models,
    execution: Execution,
    encoding: Encoding,
    together: int,
    *,
    dated: bool = True,
) -> Mapping[str, str]:
    """The fingerprint of a step on this machine.

    Args:
        snapshot: the settings in force.
        target: what is worked on.
        models: of the step.
        execution: what graphs run on.
        encoding: of the result.
        together: frames that go through graphs together, some of which round otherwise in a larger run.
        dated: whether files count as others once their time of change is another, as copies on other machines have.
    """
    return {
        "target": _trace(target, dated=dated),
        **dict(_inputs(snapshot, dated=dated)),
        **dict(_settings(snapshot, models)),
        **{f"model {name}": digest for name, digest in models.digests.items()},
        "encoding": repr(encoding),
        TOGETHER: str(together),
        **machine_fingerprint(execution),
    }


def machine_fingerprint(execution: Execution) -> Mapping[str, str]:
    """The part of every fingerprint that is not of the step, but of the program and the machine.

    Args:
        execution: what graphs run on.
    """
    return {
        "program": f"{__version__} {_program()}",
        **{name: version(name) for name in ("av", "imagecodecs", "pillow", "pillow-heif")},
        "numpy": np.__version__,
        "opencv": cv2.__version__,
        "onnxruntime": execution.runtime.version,
        "provider": " ".join(provider.name for provider in execution.providers),
        "half precision": str(execution.half),
        "device": execution.devices[0].name,
        "processor": _processor(),
    }


def breed_of(execution: Execution, together: int) -> str:
    """A short word for the part of every fingerprint that is not of the step.

    Args:
        execution: what graphs run on.
        together: frames that go through graphs together.
    """
    text = json.dumps({**machine_fingerprint(execution), TOGETHER: str(together)}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:BREED_DIGITS]


def _settings(snapshot: Snapshot, models: Models) -> Iterator[tuple[str, str]]:
    """What was chosen. A model counts by its name where it is used, since that is what a job keeps of ``auto``."""
    for spec in snapshot.schema:
        if spec.about.scope is not Scope.STEP or spec.name in ELSEWHERE | ASIDE:
            continue
        if not spec.name.endswith(SUFFIX):
            yield f"setting {spec.name}", str(snapshot.value(spec))
        elif card := models.cards.get(spec.name.removesuffix(SUFFIX)):
            yield f"setting {spec.name}", card.name


def _inputs(snapshot: Snapshot, *, dated: bool) -> Iterator[tuple[str, str]]:
    """Sources, and who becomes whom."""
    for number, path in enumerate(snapshot.get(PathsSettings).source_paths, 1):
        yield f"source {number}", _trace(path, dated=dated)
    for number, item in enumerate(snapshot.get(FaceSelectorSettings).mapping.items, 1):
        reference = item.reference
        yield f"reference {number}", (str(reference) if isinstance(reference, int) else _trace(reference, dated=dated))
        yield f"sources of reference {number}", "; ".join(_trace(path, dated=dated) for path in item.sources)


def _trace(path: Path, *, dated: bool) -> str:
    """Enough of a file to know it again."""
    about = path.stat()
    digest = hashlib.sha256()
    with path.open("rb") as file:
        digest.update(file.read(EDGE))
        if about.st_size > 2 * EDGE:
            file.seek(-EDGE, 2)
        digest.update(file.read(EDGE))
    date = f"{about.st_mtime_ns}, " if dated else ""
    return f"{about.st_size} bytes, {date}{digest.hexdigest()}"


@cache
def _program() -> str:
    """Digest of the program's own code, so that a change of it counts even where its version stayed."""
    root = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.suffix in PROGRAM):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _processor() -> str:
    """What numbers depend on: the processor, and the Python that runs."""
    return f"{instruction_sets()} Python {sys.version_info.major}.{sys.version_info.minor}"
