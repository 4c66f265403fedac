"""Opening the metrics of a process.

The processes of one machine, or container, that share a folder count together; whichever of them is asked tells for
all. Processes of other containers have a folder and an address of their own, and Prometheus adds them up.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from facefusion.service.instruments import Metrics

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Where prometheus-client looks for the folder; processes that are started later inherit it."""

WORKER_PORT = 7861
"""Where API and workers tell metrics in the files of ``deploy``."""


def prepare_folder(folder: Path) -> None:
    """Make the folder, or empty it of what processes of an earlier life counted.

    For the first process of a machine or container, before any other is started.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.db"):
        path.unlink(missing_ok=True)


def open_metrics(folder: Path) -> Metrics:
    """The metrics of this process. There is one set of them: a second call returns the first one's.

    Args:
        folder: shared with the other processes of this machine or container; that of the variable
            ``PROMETHEUS_MULTIPROC_DIR`` where it is set, as in a process that another one started.

    Raises:
        ModuleNotFoundError: the packages of ``requirements-service.txt`` are not installed.
        OSError: the folder cannot be written.
    """
    chosen = Path(os.environ.setdefault(FOLDER_VARIABLE, str(folder.absolute())))
    chosen.mkdir(parents=True, exist_ok=True)
    return _metrics(chosen)


@functools.lru_cache(maxsize=1)
def _metrics(folder: Path) -> Metrics:
    from prometheus_client import values  # noqa: PLC0415 - whoever counts nothing does not need it

    from facefusion.service.instruments import Metrics  # noqa: PLC0415 - as above

    # The library looks for the folder when it is imported, which may have been before it was known.
    values.ValueClass = values.get_value_class()
    return Metrics(folder)
