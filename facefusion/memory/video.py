"""How much video memory graphs take, estimated before they are loaded.

None of these numbers was measured on a card. They follow from what is known of the parts: the weights lie on the card
as they lie in the file, ONNX Runtime rounds what it asks the driver for, and each run that is under way holds its
activations. The meter (:mod:`facefusion.inference.video_memory`) tells what a run really took.
"""

from __future__ import annotations

MEBIBYTE = 1 << 20

CONTEXT_BYTES = 512 * MEBIBYTE
"""What a process takes of a card beside its graphs: the context of CUDA with the kernels of cuDNN and cuBLAS and their
workspace. 300 to 500 MB are what is commonly reported."""

SESSION_BYTES = 32 * MEBIBYTE
"""Of a session without weights: handles, streams, the first steps of its arena."""

LEAST_WORKSPACE = 64 * MEBIBYTE
"""Of one run: activations, and what the algorithms of its convolutions work on."""


def session_video_bytes(file_bytes: int, *, workspace: int, runs: int, half: bool) -> int:
    """Device memory that a loaded graph takes when as many runs are under way as may be.

    A quarter is added to the weights, for convolutions that keep them in a second order and for what an arena leaves
    unused between pieces.

    Args:
        file_bytes: size of its file, nearly all of it weights.
        workspace: bytes of activations of one run; 0 where that is not known.
        runs: runs that may be under way at once, at least 1.
        half: whether it computes in half precision, which halves all of it.
    """
    whole = file_bytes * 5 // 4 + runs * run_video_bytes(workspace)
    needed = SESSION_BYTES + (whole // 2 if half else whole)
    return -(-needed // MEBIBYTE) * MEBIBYTE


def run_video_bytes(workspace: int) -> int:
    """Device memory of one run beside the weights."""
    return max(workspace, LEAST_WORKSPACE)
