"""Works for the fleet until it is told to end."""

from __future__ import annotations

import tempfile
from pathlib import Path

from facefusion.cli.command import Context
from facefusion.cli.fleet import fleet_url
from facefusion.cli.service_packages import service_packages
from facefusion.config.settings import PathsSettings
from facefusion.memory.settings import MemorySettings
from facefusion.service.fleet_settings import WorkerSettings
from facefusion.service.settings import MonitoringSettings, ServiceSettings

MINUTE = 60.0


def execute(context: Context) -> int:
    """Take units of jobs from the queue and do them, on one device, with models that stay loaded.

    A request to end (SIGTERM, Ctrl-C) lets it finish the unit that it has, which is what a worker is to end with: 0.

    Raises:
        SetupError: a package is missing, or no queue is named.
        ServiceUnavailableError: the queue cannot be reached.
    """
    snapshot = context.state.snapshot
    settings = snapshot.get(ServiceSettings)
    url = fleet_url(snapshot)
    with service_packages("worker"):
        from facefusion.service.engine_rendering import EngineRenderer  # noqa: PLC0415 - see service_packages
        from facefusion.service.files import open_files  # noqa: PLC0415
        from facefusion.service.fleet_worker import MeteredVoice, Terms, run_worker  # noqa: PLC0415
        from facefusion.service.monitoring import begin_monitoring  # noqa: PLC0415
        from facefusion.service.pulse import Patience  # noqa: PLC0415
    own = snapshot.get(WorkerSettings)
    temporary = snapshot.get(PathsSettings).temp_path or Path(tempfile.gettempdir())
    metrics = begin_monitoring(
        places={"storage": settings.storage_path, "temp": temporary},
        address=snapshot.get(MonitoringSettings).metrics_address,
    )
    files = open_files(settings.storage_path)
    breed = context.application.breed(snapshot, context.events)
    renderer = EngineRenderer(context.application, snapshot, breed)
    context.terminal.line(f"Working for the fleet as a worker of the breed {breed}.", fields={"event": "worker_ready"})
    try:
        run_worker(
            url,
            renderer,
            files,
            MeteredVoice(context.events, metrics, "worker"),
            context.stop,
            Terms(
                settings.retention_hours,
                snapshot.get(MemorySettings).system_memory_limit,
                Patience(own.stall_minutes * MINUTE, own.loading_minutes * MINUTE),
            ),
        )
    finally:
        context.application.release_models()
    context.terminal.line("Nothing is left half-done; others go on.", fields={"event": "worker_ended"})
    return 0
