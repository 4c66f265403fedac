"""What requests and answers hold. The OpenAPI document is made of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from facefusion.service import records
from facefusion.service.callback_hosts import LONGEST_URL
from facefusion.service.records import JobState, Priority

ID = r"^[0-9a-f]{32}$"
EXAMPLE_ID, OTHER_ID, JOB_ID = "0f5c2d8a9b3e4f6071829304a5b6c7d8", "c1d2e3f405162738495a6b7c8d9e0f10", "9" * 32
EXAMPLE_HASH = "5e1f" * 16

MOST_SOURCES = 64
MOST_SETTINGS = 256
LONGEST_NAME = 64
"""Characters of a setting's; what is longer names none, and would only be repeated in the answer."""

Id = Annotated[str, Field(pattern=ID, examples=[EXAMPLE_ID])]


class Document(BaseModel):
    """Base of all: what is not declared is not let in."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AssetDocument(Document):
    """An uploaded file. Its name is not kept."""

    id: Id
    sha256: Annotated[str, Field(examples=[EXAMPLE_HASH])]
    size: Annotated[int, Field(description="Bytes.", examples=[1_048_576])]
    media_type: Annotated[str, Field(description="As its content shows.", examples=["video/mp4"])]
    created: Annotated[float, Field(description="Seconds since 1970.", examples=[1_800_000_000.0])]
    expires: Annotated[
        float, Field(description="When it may be erased; later where a job uses it.", examples=[1_800_086_400.0])
    ]
    width: Annotated[int | None, Field(description="Of the picture as it is shown, in pixels.", examples=[1920])]
    height: Annotated[int | None, Field(examples=[1080])]
    frames: Annotated[int | None, Field(description="As many as the file promises.", examples=[450])]
    duration: Annotated[float | None, Field(description="Of the picture, in seconds.", examples=[15.0])]

    @classmethod
    def of(cls, asset: records.Asset) -> AssetDocument:
        """As the service keeps it."""
        return cls(
            id=asset.id,
            sha256=asset.sha256,
            size=asset.size,
            media_type=asset.media_type,
            created=asset.created,
            expires=asset.expires,
            width=asset.width,
            height=asset.height,
            frames=asset.frames,
            duration=asset.duration,
        )


class AssetList(Document):
    """Assets, the newest first."""

    assets: list[AssetDocument]
    next: Annotated[str | None, Field(description="What 'before' is for the next page; none where this is the last.")]

    @classmethod
    def of(cls, assets: Sequence[records.Asset], limit: int) -> AssetList:
        """A page of so many at most."""
        is_more = len(assets) == limit
        return cls(assets=[AssetDocument.of(asset) for asset in assets], next=assets[-1].id if is_more else None)


class CallbackRequest(Document):
    """Whom to call when the job is at its end."""

    url: Annotated[
        str,
        Field(
            max_length=LONGEST_URL,
            description="Address of a host that the operator allows. It gets a POST with the job's id and state, "
            "signed as Standard Webhooks has it; see docs/api.md.",
            examples=["https://example.org/hooks/faces"],
        ),
    ]


class JobRequest(Document):
    """What is to be made."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "target": EXAMPLE_ID,
                    "sources": [OTHER_ID],
                    "step": {"processors": ["face_swapper"], "face_selector_mode": "one", "output_video_quality": 90},
                    "priority": "normal",
                }
            ]
        }
    )

    target: Annotated[Id, Field(description="Id of the image or video to change.")]
    sources: Annotated[
        list[Id],
        Field(
            max_length=MOST_SOURCES,
            description="Ids of images that show the source's face (several are merged), and of sound that takes the "
            "place of the target's.",
        ),
    ] = []
    step: Annotated[
        dict[Annotated[str, Field(max_length=LONGEST_NAME)], JsonValue],
        Field(
            max_length=MOST_SETTINGS,
            description="Settings, as a step of a job file holds them. What is left out is as the operator set it.",
        ),
    ] = {}
    extension: Annotated[
        str | None,
        Field(
            pattern=r"^\.[a-z0-9]{1,5}$",
            description="Of the result, with its dot; the target's where left out.",
            examples=[".mp4"],
        ),
    ] = None
    priority: Annotated[Priority, Field(description="Which of the waiting jobs come first.")] = Priority.NORMAL
    callback: Annotated[
        CallbackRequest | None, Field(description="Whom to call at the job's end; nobody where left out.")
    ] = None


class ProgressDocument(Document):
    """How far a job is."""

    frames_done: int
    frames_total: Annotated[int | None, Field(description="None where that is not known yet.")]
    frames_per_second: Annotated[float, Field(description="Of all workers.")]
    seconds_left: Annotated[float | None, Field(description="At this rate; none where that cannot be said.")]
    segments_done: int
    segments_total: int | None

    @classmethod
    def of(cls, progress: records.Progress) -> ProgressDocument:
        """As the service keeps it."""
        return cls(
            frames_done=progress.done,
            frames_total=progress.total,
            frames_per_second=progress.rate,
            seconds_left=progress.seconds_left,
            segments_done=progress.segments_done,
            segments_total=progress.segments,
        )


class ResultDocument(Document):
    """The file that a job made."""

    href: Annotated[str, Field(description="Where it is fetched.", examples=[f"/v1/jobs/{JOB_ID}/result"])]
    sha256: str
    size: Annotated[int, Field(description="Bytes.")]
    media_type: str
    expires: Annotated[float, Field(description="Seconds since 1970.")]


class FaultDocument(Document):
    """Why a job ended other than completed, in the words of the command line."""

    kind: Annotated[str, Field(examples=["ContentRefusedError"])]
    fault: str
    remedy: str


class JobDocument(Document):
    """A job."""

    id: Id
    state: JobState
    priority: Priority
    target: Id
    sources: list[Id]
    step: Annotated[dict[str, JsonValue], Field(description="All settings of the step, those not asked for too.")]
    extension: str
    created: Annotated[float, Field(description="Seconds since 1970, as all times here.")]
    started: float | None
    ended: float | None
    progress: ProgressDocument
    result: ResultDocument | None
    fault: FaultDocument | None
    report: Annotated[dict[str, Any] | None, Field(description="Of the run; see docs/report.md.")]
    retries: Annotated[int, Field(description="Segments that were begun again since their worker was lost.")]

    @classmethod
    def of(cls, job: records.JobRecord) -> JobDocument:
        """As the service keeps it."""
        return cls(
            id=job.id,
            state=job.state,
            priority=job.priority,
            target=job.target,
            sources=list(job.sources),
            step=dict(job.step),  # type: ignore[arg-type]
            extension=job.extension,
            created=job.created,
            started=job.started,
            ended=job.ended,
            progress=ProgressDocument.of(job.progress),
            result=_result(job),
            fault=None
            if job.fault is None
            else FaultDocument(kind=job.fault.kind, fault=job.fault.fault, remedy=job.fault.remedy),
            report=None if job.report is None else dict(job.report),
            retries=job.retries,
        )


class JobList(Document):
    """Jobs, the newest first."""

    jobs: list[JobDocument]
    next: Annotated[str | None, Field(description="What 'before' is for the next page; none where this is the last.")]

    @classmethod
    def of(cls, jobs: Sequence[records.JobRecord], limit: int) -> JobList:
        """A page of so many at most."""
        return cls(
            jobs=[JobDocument.of(job) for job in jobs], next=jobs[-1].id if jobs and len(jobs) == limit else None
        )


class EventDocument(Document):
    """What those who watch a job are told."""

    state: JobState
    progress: ProgressDocument


class FieldDocument(Document):
    """What is wrong with one field."""

    field: Annotated[str, Field(examples=["step.face_detector_score"])]
    detail: Annotated[str, Field(examples=["face_detector_score = 7: must be between 0 and 1 (from the request)."])]


class ProblemDocument(BaseModel):
    """What went wrong (RFC 9457)."""

    type: Annotated[str, Field(examples=["urn:facefusion:problem:fields"])]
    title: str
    status: int
    detail: str
    fault: Annotated[str | None, Field(description="What went wrong, by itself.")] = None
    remedy: Annotated[str | None, Field(description="What can be done about it.")] = None
    retry_may_help: bool | None = None
    errors: Annotated[list[FieldDocument] | None, Field(description="The fields that are wrong.")] = None
    log_id: Annotated[str | None, Field(description="Under which the operator finds more.")] = None


class Capabilities(Document):
    """What this service does."""

    version: str
    processors: list[str]
    targets: Annotated[list[str], Field(description="Extensions of the results that can be written.")]
    upload_limit: Annotated[int, Field(description="Bytes.")]
    subject_quota: Annotated[int, Field(description="Bytes that are kept for you at most.")]
    retention_hours: float
    step: Annotated[dict[str, Any], Field(description="JSON Schema of the settings that you may choose.")]


class Health(Document):
    """Whether the service can do its work."""

    status: str
    checks: dict[str, str] = {}


def _result(job: records.JobRecord) -> ResultDocument | None:
    result = job.result
    if result is None:
        return None
    return ResultDocument(
        href=f"/v1/jobs/{job.id}/result",
        sha256=result.sha256,
        size=result.size,
        media_type=result.media_type,
        expires=result.expires,
    )
