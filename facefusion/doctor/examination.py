"""What the parts of an examination share."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from facefusion.config.state import Snapshot

if TYPE_CHECKING:
    from facefusion.doctor.advice import Advice
    from facefusion.doctor.look import Look


class Examination:
    """One examination of this machine.

    Args:
        snapshot: the settings that a run would have.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    @cached_property
    def look(self) -> Look:
        """What graphs could run on. The first look takes seconds, since devices are woken and tried.

        Raises:
            ImportError: ONNX Runtime cannot be imported.
        """
        from facefusion.doctor.look import look_around  # noqa: PLC0415 - the rest works without ONNX Runtime

        return look_around(self.snapshot)

    @property
    def advice(self) -> Advice:
        """The settings that suit this machine.

        Raises:
            ImportError: a package that is needed to look at it cannot be imported.
        """
        from facefusion.doctor.advice import advise  # noqa: PLC0415 - as above

        return advise(self.look.facts)
