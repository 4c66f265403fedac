"""Records of jobs as Redis keeps them: what never changes as one JSON text, what does in fields of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256

from facefusion.service.records import Fault, JobEvent, JobRecord, JobState, Priority, Progress, Result


def record_text(job: JobRecord) -> str:
    """What never changes of a job."""
    return json.dumps(
        {
            "owner": job.owner,
            "priority": job.priority.value,
            "step": dict(job.step),
            "sources": list(job.sources),
            "target": job.target,
            "assets": list(job.assets),
            "extension": job.extension,
            "created": job.created,
            **({} if job.callback is None else {"callback": job.callback}),
        }
    )


def content_digest(job: JobRecord) -> str:
    """What is the same for two requests for the same."""
    content = [job.owner, job.priority.value, job.step, job.sources, job.target, job.extension]
    if job.callback is not None:
        content.append(job.callback)
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def job_of(job_id: str, fields: Mapping[str, str]) -> JobRecord:
    """A job from the fields of its hash."""
    record = json.loads(fields["record"])
    return JobRecord(
        id=job_id,
        owner=record["owner"],
        state=JobState(fields["state"]),
        priority=Priority(record["priority"]),
        step=record["step"],
        sources=tuple(record["sources"]),
        target=record["target"],
        extension=record["extension"],
        created=record["created"],
        callback=record.get("callback"),
        started=_seconds(fields.get("started")),
        ended=_seconds(fields.get("ended")),
        progress=progress_of(fields),
        result=result_of(fields.get("result")),
        fault=fault_of(fields.get("fault")),
        report=json.loads(fields["report"]) if "report" in fields else None,
        retries=int(fields.get("retries", 0)),
        alone="alone" in fields,
    )


def progress_of(fields: Mapping[str, str]) -> Progress:
    """How far a job is, from its own fields or from those of an event."""
    return Progress(
        done=int(fields.get("done") or 0),
        total=_count(fields.get("total")),
        rate=float(fields.get("rate") or 0),
        segments_done=int(fields.get("segments_done") or 0),
        segments=_count(fields.get("segments")),
    )


def event_of(event_id: str, fields: Mapping[str, str]) -> JobEvent:
    """An event from the fields of its entry."""
    return JobEvent(event_id, JobState(fields["state"]), progress_of(fields))


def fault_text(fault: Fault) -> str:
    """A fault as JSON."""
    return json.dumps(asdict(fault))


def fault_of(text: str | None) -> Fault | None:
    """A fault from JSON."""
    return Fault(**json.loads(text)) if text else None


def result_text(result: Result) -> str:
    """A result as JSON."""
    return json.dumps(asdict(result))


def result_of(text: str | None) -> Result | None:
    """A result from JSON."""
    return Result(**json.loads(text)) if text else None


def _count(text: str | None) -> int | None:
    return int(text) if text else None


def _seconds(text: str | None) -> float | None:
    return float(text) if text else None
