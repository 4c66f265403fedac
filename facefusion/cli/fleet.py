"""How commands find the fleet."""

from __future__ import annotations

import os

from facefusion.config.state import Snapshot
from facefusion.core.errors import UsageError
from facefusion.service.environment import Secrets
from facefusion.service.settings import ServiceSettings


def fleet_url(snapshot: Snapshot) -> str:
    """Where the fleet's Redis is.

    Raises:
        UsageError: nobody says.
        SetupError: a file that is to say it cannot be read.
    """
    url = Secrets.of(os.environ).redis_url or snapshot.get(ServiceSettings).redis_url
    if url is None:
        raise UsageError(
            "no queue is named", "Set REDIS_URL or --redis-url to where the fleet's Redis is: redis://HOST:6379/0."
        )
    return url
