"""The API over parts that keep everything in this process, and those who ask it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import jwt
from fastapi.testclient import TestClient

from facefusion.cli.application import load_application
from facefusion.cli.main import program_schema
from facefusion.config.state import Snapshot
from facefusion.service.api.app import create_app
from facefusion.service.api.service import Service
from facefusion.service.audit import AuditLog
from facefusion.service.environment import Secrets
from facefusion.service.errors import UnsupportedMediaError
from facefusion.service.health import Readiness, queue_look, storage_look
from facefusion.service.look import REMEDY, Content
from facefusion.service.memory_queue import MemoryQueue
from facefusion.service.rates import RateLimits
from facefusion.service.records import Result
from facefusion.service.retention import Retention
from facefusion.service.settings import ServiceSettings
from facefusion.service.signed_tokens import build_gate
from facefusion.service.steps import StepRules
from facefusion.service.uploads import UploadLimits, Uploads
from tests.service.fakes import Clock, MemoryFiles

TOKEN = "the operator's own token"
KEY = "k" * 32

PHOTO, CLIP, SOUND = b"photo of somebody", b"clip of somebody", b"sound"
KINDS = {
    PHOTO[:5]: Content("image/jpeg", ".jpg", 640, 480, 1),
    CLIP[:4]: Content("video/mp4", ".mp4", 640, 360, 90, 3.0),
    SOUND: Content("audio/wav", ".wav"),
    b"anim": Content("image/gif", ".gif", 32, 24, 12, 1.2),
    b"still": Content("image/gif", ".gif", 32, 24, 1),
}
RESULT = bytes(range(256)) * 4
GIGABYTE = 10**9


def look_at_first_bytes(path: Path) -> Content:
    head = path.read_bytes()
    for begin, content in KINDS.items():
        if head.startswith(begin):
            return content
    raise UnsupportedMediaError("the upload is of no format that is known here", REMEDY)


def token_of(subject: str, *scopes: str, key: str = KEY, expires: float = 3600.0, **claims: object) -> str:
    return jwt.encode({"sub": subject, "scope": " ".join(scopes), "exp": time.time() + expires, **claims}, key, "HS256")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


SUBMITTER, OTHER = bearer(token_of("ann", "submit", "read")), bearer(token_of("bob", "submit", "read"))
OPERATOR = bearer(TOKEN)


@dataclass
class Api:
    """A service, and a client of it."""

    folder: Path
    settings: ServiceSettings = field(default_factory=ServiceSettings)
    secrets: Secrets = field(default_factory=lambda: Secrets(TOKEN, KEY))
    values: dict[str, object] = field(default_factory=dict)
    address: str = "203.0.113.7"
    base_url: str = "http://127.0.0.1:7860"

    def __post_init__(self) -> None:
        (self.folder / "files").mkdir()
        (self.folder / "parts").mkdir()
        self.clock = Clock(time.time())
        self.files = MemoryFiles(self.folder / "files")
        self.queue = MemoryQueue(self.clock)
        self.observed: list[tuple[str, str, int]] = []
        self.audit_path = self.folder / "audit.jsonl"
        self.parts = self.folder / "parts"
        self.uploads = Uploads(
            self.files,
            self.parts,
            UploadLimits.of(self.settings),
            look_at_first_bytes,
            self.clock,
            kept_results=self.queue.kept_bytes,
        )
        base = Snapshot(program_schema(load_application()), {}, {}).with_values(self.values)
        self.service = Service(
            settings=self.settings,
            gate=build_gate(self.settings, self.secrets),
            rates=RateLimits(self.settings.requests_per_minute, None),
            queue=self.queue,
            files=self.files,
            uploads=self.uploads,
            retention=Retention(
                self.files, self.queue, (self.uploads.sweep,), self.settings.retention_hours, self.clock
            ),
            rules=StepRules(base, self.settings.client_options),
            audit=AuditLog(self.audit_path),
            readiness=Readiness({"queue": queue_look(self.queue), "storage": storage_look(self.files)}, fresh=0.0),
            exposition=lambda: (b"jobs 1\n", "text/plain; version=0.0.4"),
            observe=lambda method, route, status, seconds: self.observed.append((method, route, status)),
            clock=self.clock,
        )
        self.app = create_app(self.service)
        self.client = TestClient(
            self.app, base_url=self.base_url, client=(self.address, 50000), raise_server_exceptions=False
        )

    def upload(self, data: bytes, who: dict[str, str] = SUBMITTER) -> str:
        answer = self.client.post("/v1/assets", content=data, headers=who)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def submit(self, who: dict[str, str] = SUBMITTER, headers: dict[str, str] | None = None, **body: object):
        if "target" not in body:
            body["target"] = self.upload(CLIP, who)
        if "sources" not in body:
            body["sources"] = [self.upload(PHOTO, who)]
        return self.client.post("/v1/jobs", json=body, headers={**who, **(headers or {})})

    def job(self, who: dict[str, str] = SUBMITTER, **body: object) -> str:
        answer = self.submit(who, None, **body)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def complete(self, job_id: str, data: bytes = RESULT) -> None:
        """Do the job as a worker would."""
        while (job := self.queue.take(0)) is not None and job.id != job_id:
            pass
        assert job is not None
        from hashlib import sha256

        path = self.folder / "made"
        path.write_bytes(data)
        result = Result(sha256(data).hexdigest(), len(data), "video/mp4", ".mp4", self.clock() + 3600)
        self.files.put_result(job_id, path, result)
        from facefusion.service.records import JobState

        self.queue.finish(job_id, JobState.COMPLETED, result=result, report={"frames": 12})

    def audited(self) -> Sequence[dict[str, object]]:
        text = self.audit_path.read_text() if self.audit_path.exists() else ""
        return [json.loads(line) for line in text.splitlines()]


def with_settings(**values: object) -> ServiceSettings:
    return replace(ServiceSettings(), **values)  # type: ignore[arg-type]
