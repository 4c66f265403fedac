"""What is written down about a finished segment: all that a later run needs to go on after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

from facefusion.media.segment import Segment
from facefusion.pipeline.checkpoint import Checkpoint
from facefusion.pipeline.frame_files import Content, FrameFile
from facefusion.pipeline.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Manifest:
    """One finished segment."""

    segment: Segment | None
    """None where none of its frames is shown."""
    outcome: Outcome
    checkpoint: Checkpoint
    files: Mapping[int, FrameFile] = field(default_factory=dict)
    """Of its frames, by index; empty where they were not written."""

    @property
    def edited(self) -> list[int]:
        """Frames that show what someone changed in their files."""
        return [index for index, file in self.files.items() if file.edited]

    def to_json(self) -> Mapping[str, object]:
        """Everything, fit for JSON."""
        return {
            "segment": None if self.segment is None else self.segment.to_json(),
            "outcome": self.outcome.to_json(),
            **self.checkpoint.to_json(),
            "files": [[index, *file.content, file.edited] for index, file in self.files.items()],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object], file: Path) -> Self:
        """What :meth:`to_json` gave.

        Args:
            data: read from JSON.
            file: of the segment.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        fields = cast("Mapping[str, Any]", data)
        segment = None if fields["segment"] is None else Segment.from_json(file, fields["segment"])
        files = {
            int(index): FrameFile(Content(int(size), int(checksum)), bool(edited))
            for index, size, checksum, edited in fields["files"]
        }
        return cls(segment, Outcome.from_json(fields["outcome"]), Checkpoint.from_json(data), files)
