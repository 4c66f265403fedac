"""What is done where the memory of a device does not suffice for frames that are worked on together."""

from __future__ import annotations

from facefusion.config.state import Snapshot
from facefusion.inference.settings import ExecutionSettings


def together_of(snapshot: Snapshot) -> int:
    """Frames that are worked on together."""
    return max(snapshot.get(ExecutionSettings).execution_queue_count, 1)


def one_at_a_time(snapshot: Snapshot) -> Snapshot:
    """The settings with frames that are worked on one at a time.

    Some graphs round otherwise in a run of several pictures, so the whole result is to be made with them.
    """
    return snapshot.with_values({"execution_queue_count": 1})


def narrowed(together: int) -> str:
    """What whoever gets the result is told.

    Args:
        together: frames that it was tried with.
    """
    return (
        f"The memory of the device did not suffice for --execution-queue-count {together}, so the frames of all of the "
        "result are worked on one at a time."
    )
