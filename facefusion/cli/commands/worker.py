"""Works for the fleet until it is told to end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from facefusion.cli.command import Context
from facefusion.cli.fleet import fleet_url
from facefusion.cli.service_packages import service_packages
from facefusion.config.settings import PathsSettings
from facefusion.memory.settings import MemorySettings
from facefusion.pipeline.work_root import work_root
from facefusion.service.discretion import folders_of
from facefusion.service.fleet_settings import WorkerSettings
from facefusion.service.settings import MonitoringSettings, ServiceSettings

MINUTE = 60.0


def execute(context: Context) -> int:
    """Take units of jobs from the queue and do them, on one device, with models that stay loaded.

    A request to end (SIGTERM, Ctrl-C) lets it finish the unit that it has, which is what a worker is to end with: 0.

    Raises:
        SetupError: a package is missing, no queue is named, or results cannot be signed.
        ServiceUnavailableError: the queue cannot be reached.
    """
    snapshot = context.state.snapshot
    settings = snapshot.get(ServiceSettings)
    url = fleet_url(snapshot)
    with service_packages("worker"):
        from facefusion.service.engine_rendering import EngineRenderer  # noqa: PLC0415 - see service_packages
        from facefusion.service.fleet_worker import MeteredVoice, Terms, run_worker  # noqa: PLC0415
        from facefusion.service.health import Readiness, disk_look, models_look  # noqa: PLC0415
        from facefusion.service.monitoring import begin_monitoring  # noqa: PLC0415
        from facefusion.service.pulse import Patience  # noqa: PLC0415
        from facefusion.service.storage import worker_files  # noqa: PLC0415
    own = snapshot.get(WorkerSettings)
    temp_path = snapshot.get(PathsSettings).temp_path
    temporary = temp_path or Path(tempfile.gettempdir())
    shared = {} if settings.storage_url else {"storage": settings.storage_path}
    readiness = Readiness(
        {
            "temp": disk_look((temporary,)),
            "models": models_look(lambda: context.application.missing_models(snapshot)),
            "worker": lambda: "is starting",
        }
    )
    metrics = begin_monitoring(
        places={**shared, "temp": temporary},
        address=snapshot.get(MonitoringSettings).metrics_address,
        readiness=readiness,
    )
    context.application.check_signer(snapshot, context.events)  # it may be the one that joins a video of hours
    breed = context.application.breed(snapshot, context.events)
    renderer = EngineRenderer(context.application, snapshot, breed)
    terms = Terms(
        settings.retention_hours,
        snapshot.get(MemorySettings).system_memory_limit,
        Patience(own.stall_minutes * MINUTE, own.loading_minutes * MINUTE),
        temp_path,
        private=folders_of(snapshot),
    )
    voice = MeteredVoice(context.events, metrics, "worker")
    try:
        with worker_files(settings, os.environ, own.asset_copies, work_root(temp_path)) as files:
            word = f"Working for the fleet as a worker of the breed {breed}."
            context.terminal.line(word, fields={"event": "worker_ready"})
            run_worker(url, renderer, files, voice, context.stop, terms, readiness)
    finally:
        context.application.release_models()
    context.terminal.line("Nothing is left half-done; others go on.", fields={"event": "worker_ended"})
    return 0
