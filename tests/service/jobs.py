"""Jobs for tests."""

from __future__ import annotations

from typing import Any

from facefusion.service.records import JobRecord, JobState, Priority


def job(number: int = 1, **changes: Any) -> JobRecord:
    fields: dict[str, Any] = {
        "id": f"job{number}",
        "owner": "ann",
        "state": JobState.QUEUED,
        "priority": Priority.NORMAL,
        "step": {"face_swapper_model": "mesh"},
        "sources": ("asset1",),
        "target": f"asset{number + 1}",
        "extension": ".mp4",
        "created": 1_700_000_000.0 + number,
    }
    return JobRecord(**(fields | changes))
