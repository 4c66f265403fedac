"""Says by its exit status whether this container does what it was started for: 0 it does, 1 it does not.

The API is asked on its own port, a worker where it tells its metrics. A command that comes to an end by itself, such as
``run`` with a target, is well as long as it is there.
"""

from __future__ import annotations

import http.client
import os
from collections.abc import Sequence
from pathlib import Path

API_PORT = 7860
WORKER_PORT = 7861
PATIENCE = 8.0
"""Seconds."""
TARGET_FLAGS = ("-t", "--target-path", "-o", "--output-path")


def question(words: Sequence[str], port: int = API_PORT) -> tuple[int, str] | None:
    """Port and path to ask, by the words that the container was started with; none where nothing answers questions."""
    if "worker" in words:
        return WORKER_PORT, "/health/live"
    is_server = "run" in words and not any(word.partition("=")[0] in TARGET_FLAGS for word in words)
    return (port, "/health/live") if is_server or "serve" in words else None


def answers(port: int, path: str) -> bool:
    """Whether something on this machine answers well."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def main() -> int:
    """Ask; the exit status."""
    words = Path("/proc/1/cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
    asked = question(words, int(os.environ.get("FACEFUSION_LISTEN_PORT") or API_PORT))
    return 0 if asked is None or answers(*asked) else 1


if __name__ == "__main__":
    raise SystemExit(main())
