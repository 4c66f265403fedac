"""How a step is divided, so that several machines can work on it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self, cast

FORMAT = 1
"""Of a plan as JSON."""


@dataclass(frozen=True)
class StepPlan:
    """The segments of a step, and what every machine that renders one has to have in common.

    It holds digests and numbers, and nothing by which a file would be found or a face be known.
    """

    segments: tuple[int, ...]
    """How many frames each has; a step that is not divided has one, of 0 frames where their number is not known."""
    fingerprint: Mapping[str, str]
    """All that decides what a segment holds, by a name to show to people: program, models, libraries, device, settings,
    content of the files. Empty where the step is not divided."""
    outline: Mapping[str, object] | None = None
    """Where each segment begins; none where the step is not divided."""

    @property
    def is_divided(self) -> bool:
        """Whether there are segments to render apart; else the step is executed in one go."""
        return self.outline is not None

    @property
    def frames(self) -> int:
        """Of all segments."""
        return sum(self.segments)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the plan: what segments that go together have in common."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> dict[str, object]:
        """Everything, fit for JSON."""
        return {
            "format": FORMAT,
            "segments": list(self.segments),
            "fingerprint": dict(self.fingerprint),
            "outline": None if self.outline is None else dict(self.outline),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """What :meth:`to_json` gave.

        Raises:
            KeyError, TypeError, ValueError: it is something else, or of another version.
        """
        if data["format"] != FORMAT:
            raise ValueError(f"a plan of format {data['format']}, not {FORMAT}")
        segments = tuple(map(int, cast("Sequence[int]", data["segments"])))
        fingerprint = dict(cast("Mapping[str, str]", data["fingerprint"]))
        return cls(segments, fingerprint, cast("Mapping[str, object] | None", data["outline"]))
