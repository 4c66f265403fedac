"""What a video says of itself that is put together from results of this program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from facefusion.app.marking import PROGRAM, open_sealer
from facefusion.app.marks_found import inherited, marks_of
from facefusion.config.state import Snapshot
from facefusion.media.finishing import Finishing
from facefusion.observability.events import EventSink
from facefusion.provenance.marker import Marker, Unmarked
from facefusion.provenance.records import Declaration, Deed

DEED = "join"


def marks_of_joined(snapshot: Snapshot, parts: Sequence[Path], events: EventSink) -> Finishing:
    """What marks the whole as its parts are marked: with the strongest of what they say, signed where one of them is.

    The files themselves are asked, not the settings that they were made with, so it is the same whatever became of the
    job's file meanwhile.

    Args:
        snapshot: how this machine signs.
        parts: in order; the first one is the whole's parent.
        events: told who signs.

    Raises:
        MediaError: a part cannot be read.
        SetupError: the whole cannot be signed.
    """
    found = [marks_of(part) for part in parts]
    source_type = inherited(said for marks in found for said in marks.source_types)
    if source_type is None:
        return Unmarked()
    is_signed = any(marks.verdict is not None for marks in found)
    sealer = open_sealer(snapshot, events) if is_signed else None
    return Marker(Declaration((Deed(DEED, source_type),), PROGRAM), parts[0], sealer)
