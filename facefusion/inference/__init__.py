"""Running graphs on ONNX Runtime: providers, sessions, the pool and its gates."""

from __future__ import annotations

import os

# Nothing leaves the machine. ONNX Runtime 1.32 writes events of its use to the user's cache as soon as it is imported,
# to send them; only this keeps it from that, and the call that stops what comes later is in ``runtime``.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
