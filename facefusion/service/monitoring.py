"""What a command of the service does at its start so that it can be watched."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from facefusion.core.errors import SetupError
from facefusion.service.gauges import MachineGauges, QueueGauges, WatchedQueue
from facefusion.service.gpu_gauges import GpuGauges
from facefusion.service.metrics import FOLDER_VARIABLE, open_metrics, prepare_folder
from facefusion.service.watch_port import serve_watchers

if TYPE_CHECKING:
    from facefusion.service.health import Readiness
    from facefusion.service.instruments import Metrics

FOLDER_PREFIX = "facefusion-metrics-"


def begin_monitoring(
    *,
    places: Mapping[str, Path],
    queue: WatchedQueue | None = None,
    address: str | None = None,
    readiness: Readiness | None = None,
) -> Metrics:
    """Open the metrics of this process, and of those that it will start, with all gauges.

    Args:
        places: folders whose disks are watched, by names such as ``temp`` and ``storage``.
        queue: told about, where the process knows it. Every API does, and no worker.
        address: where to tell them besides, as ``--metrics-address`` has it.
        readiness: told there as well, where it is known.

    Raises:
        SetupError: the folder cannot be written, or the address not be listened on.
    """
    try:
        metrics = open_metrics(_folder())
    except OSError as error:
        raise SetupError(
            f"Metrics cannot be counted: {error}", f"Have {FOLDER_VARIABLE} name a folder that can be written."
        ) from error
    metrics.watch(MachineGauges(places))
    metrics.watch(GpuGauges())
    if queue is not None:
        metrics.watch(QueueGauges(queue))
    if address:
        _serve(metrics, address, readiness)
    return metrics


def _folder() -> Path:
    """That of the process which started this one, else a new one that goes with this process."""
    inherited = os.environ.get(FOLDER_VARIABLE)
    if inherited:
        return Path(inherited)
    folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # processes that were forked off count on
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    prepare_folder(folder)
    return folder


def _serve(metrics: Metrics, address: str, readiness: Readiness | None) -> None:
    host, _, port = address.rpartition(":")
    try:
        serve_watchers(host.strip("[]"), int(port), metrics.exposition, readiness)
    except (OSError, OverflowError) as error:
        raise SetupError(
            f"Metrics cannot be told on {address}: {error}", "Choose another one with --metrics-address."
        ) from error
