"""How much is kept for whom, and how much more is on its way: what the quota of a user is held against."""

from __future__ import annotations

import threading
from typing import Protocol

CLAIM_SECONDS = 2 * 3600.0
"""After which a claim that was not renewed is one of a process that ended."""


class Ledger(Protocol):
    """Claims of uploads on their way, over all replicas of the API. Every method may be called from any thread.

    Raises:
        ServiceUnavailableError: from any method, where what keeps them cannot be reached.
    """

    def claim(self, owner: str, upload: str, size: int) -> int:
        """Say how large an upload is, or is going to be.

        Args:
            owner: whose it is.
            upload: its name; a later claim under it takes the place of the one before.
            size: bytes.

        Returns:
            Bytes of all claims of that owner, this one among them.
        """

    def release(self, owner: str, upload: str) -> None:
        """Claim nothing for an upload any more: it was kept, or removed."""


class MemoryLedger:
    """A :class:`Ledger` of this process alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claims: dict[str, dict[str, int]] = {}

    def claim(self, owner: str, upload: str, size: int) -> int:
        """See the port."""
        with self._lock:
            claims = self._claims.setdefault(owner, {})
            claims[upload] = size
            return sum(claims.values())

    def release(self, owner: str, upload: str) -> None:
        """See the port."""
        with self._lock:
            claims = self._claims.get(owner, {})
            claims.pop(upload, None)
            if not claims:
                self._claims.pop(owner, None)
