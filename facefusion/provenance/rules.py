"""What the C2PA library is told, whoever reads or signs with it."""

from __future__ import annotations

import sys
from types import ModuleType

from facefusion.core.errors import SetupError

PURPOSES = {
    "1.3.6.1.5.5.7.3.4": "e-mail protection",
    "1.3.6.1.5.5.7.3.36": "document signing",
    "1.3.6.1.4.1.62558.2.1": "C2PA claim signing",
    "1.3.6.1.4.1.311.76.59.1.9": "Microsoft's C2PA signing",
}
"""Extended key usages of which a signer's certificate has at least one: those of the C2PA specification, and what
authorities give out for it."""

SPILL_MEGABYTES = 64
"""Copies that the library makes of what it signs lie in memory up to this size, and in a file beyond."""


LARGEST_SIDE_CAR = 1 << 28
"""Bytes of a manifest beside a file that is read; those with thumbnails of a long history take some ten million."""
TOO_LONG = f"longer than {LARGEST_SIDE_CAR >> 20} MiB"


def library_rules(anchors: str | None = None) -> dict[str, object]:
    """Settings for :class:`c2pa.Context`.

    The network is never asked, neither for manifests that lie elsewhere nor whether a certificate was revoked; a
    time-stamp authority is no part of this: it is given to the signer. No thumbnails: they would be pictures of people.

    Args:
        anchors: certificates, as PEM, of those whom the reader trusts. All others are unknown.
    """
    trust: dict[str, object] = {"trust_config": "\n".join(PURPOSES)}
    if anchors is not None:
        trust["user_anchors"] = anchors
    return {
        "version": 1,
        "trust": trust,
        "core": {"allowed_network_hosts": [], "backing_store_memory_threshold_in_mb": SPILL_MEGABYTES},
        "verify": {"remote_manifest_fetch": False, "ocsp_fetch": False, "verify_after_sign": False},
        "builder": {"thumbnail": {"enabled": False}},
    }


def load_library() -> ModuleType:
    """The library: 30 MB that only marks need.

    Raises:
        SetupError: it is not installed, or this system cannot load it.
    """
    try:
        import c2pa  # noqa: PLC0415 - only where marks are read or written
    except (ImportError, OSError, RuntimeError) as error:
        raise SetupError(
            f"the C2PA library, which reads and signs manifests, cannot be loaded: {error}",
            f"Run: {sys.executable} -m pip install -r requirements.txt",
        ) from error
    return c2pa  # type: ignore[no-any-return]  # it has no types
