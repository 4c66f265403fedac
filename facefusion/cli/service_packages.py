"""Says what to install where a command of the service lacks a package."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from facefusion.core.errors import SetupError

PACKAGES = frozenset(
    {
        "celery", "fastapi", "httpx", "httpx2", "jwt", "kombu", "limits", "multipart", "obstore", "prometheus_client",
        "pydantic", "python_multipart", "pynvml", "redis", "sse_starlette", "starlette", "uvicorn",
    }
)  # fmt: skip
"""Top-level modules of what requirements-service.txt names."""


@contextlib.contextmanager
def service_packages(command: str) -> Iterator[None]:
    """Within it, modules of the service may be imported.

    Args:
        command: that needs them.

    Raises:
        SetupError: a package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in PACKAGES:
            raise
        raise SetupError(
            f"{command} needs the packages of the service, and {name} is not installed",
            "Run `python -m pip install -r requirements-service.txt`.",
        ) from error
